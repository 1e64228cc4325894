import { accessPaths, accessSchemas } from './access/openapi.ts'
import { environmentPaths, environmentSchemas } from './environments/openapi.ts'
import { problemSchema } from './openapi-parts.ts'
import { organisationPaths, organisationSchemas } from './organisations/openapi.ts'

/** The OpenAPI 3.1 description of the API under `/api`: each area describes its own. */
export function centerOpenApi(version: string): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Solhost control center', version },
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'an access token' } },
      schemas: { Problem: problemSchema, ...organisationSchemas, ...accessSchemas, ...environmentSchemas },
    },
    security: [{ token: [] }],
    paths: { ...organisationPaths, ...accessPaths, ...environmentPaths },
  }
}
