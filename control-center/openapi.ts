import { accessPaths, accessSchemas } from './access/openapi.ts'
import { accountPaths, accountSchemas } from './accounts/openapi.ts'
import { desiredPaths, desiredSchemas } from './desired/openapi.ts'
import { environmentPaths, environmentSchemas } from './environments/openapi.ts'
import { loginPagePaths, loginPageSchemas } from './login-pages/openapi.ts'
import { problemSchema } from './openapi-parts.ts'
import { memberPaths, memberSchemas } from './organisations/members-openapi.ts'
import { organisationPaths, organisationSchemas } from './organisations/openapi.ts'
import { packagePaths, packageSchemas } from './packages/openapi.ts'
import { pipelinePaths, pipelineSchemas } from './pipelines/openapi.ts'
import { registryPaths, registrySchemas } from './registries/openapi.ts'
import { rolloutPaths, rolloutSchemas } from './rollouts/openapi.ts'
import { solutionUserPaths, solutionUserSchemas } from './solution-users/openapi.ts'
import { telemetryPaths, telemetrySchemas } from './telemetry/openapi.ts'

/** The OpenAPI 3.1 description of the API under `/api`: each area describes its own. */
export function centerOpenApi(version: string): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Solhost control center', version },
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'an access token' } },
      schemas: {
        Problem: problemSchema,
        ...organisationSchemas,
        ...accessSchemas,
        ...telemetrySchemas,
        ...environmentSchemas,
        ...desiredSchemas,
        ...rolloutSchemas,
        ...accountSchemas,
        ...solutionUserSchemas,
        ...loginPageSchemas,
        ...memberSchemas,
        ...registrySchemas,
        ...packageSchemas,
        ...pipelineSchemas,
      },
    },
    security: [{ token: [] }],
    paths: {
      ...organisationPaths,
      ...accessPaths,
      ...telemetryPaths,
      ...environmentPaths,
      ...desiredPaths,
      ...rolloutPaths,
      ...accountPaths,
      ...solutionUserPaths,
      ...loginPagePaths,
      ...memberPaths,
      ...registryPaths,
      ...packagePaths,
      ...pipelinePaths,
    },
  }
}
