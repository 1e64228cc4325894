import Router from '@koa/router'
import type { Access } from './access/access.ts'
import { type AccessApiParts, addAccessRoutes } from './access/api.ts'
import { type AccountApiParts, addAccountRoutes } from './accounts/api.ts'
import { addDesiredRoutes, type DesiredApiParts } from './desired/api.ts'
import { addEnvironmentRoutes, type EnvironmentApiParts } from './environments/api.ts'
import { addEnvironmentTokenRoutes, type EnvironmentTokenApiParts } from './environments/tokens-api.ts'
import { addLoginPageRoutes, type LoginPageApiParts } from './login-pages/api.ts'
import { centerOpenApi } from './openapi.ts'
import { addOrganisationRoutes, type OrganisationApiParts } from './organisations/api.ts'
import { addMemberRoutes, type MemberApiParts } from './organisations/members-api.ts'
import { addPackageRoutes, type PackageApiParts } from './packages/api.ts'
import { addPipelineRoutes, type PipelineApiParts } from './pipelines/api.ts'
import { addRegistryRoutes, type RegistryApiParts } from './registries/api.ts'
import { addRolloutRoutes, type RolloutApiParts } from './rollouts/api.ts'
import { addSolutionUserRoutes, type SolutionUserApiParts } from './solution-users/api.ts'
import { addTelemetryRoutes, type TelemetryApiParts } from './telemetry/api.ts'

export type CenterApiParts = DesiredApiParts &
  RolloutApiParts &
  OrganisationApiParts &
  AccessApiParts &
  EnvironmentApiParts &
  TelemetryApiParts &
  AccountApiParts &
  SolutionUserApiParts &
  LoginPageApiParts &
  MemberApiParts &
  EnvironmentTokenApiParts &
  PackageApiParts &
  PipelineApiParts &
  RegistryApiParts & { readonly access: Access; readonly version: string }

/** The API under `/api`: for the pages' own script, and for tools with an access token. */
export function centerApi(parts: CenterApiParts): Router {
  const router = new Router({ prefix: '/api', sensitive: true })
  const document = centerOpenApi(parts.version)
  router.get('/openapi.json', (ctx) => {
    ctx.body = document
  })
  // Inside the router, so that what is found as a route cannot be spelled past the check.
  router.use(parts.access.requireAsker)
  addOrganisationRoutes(router, parts)
  addAccessRoutes(router, parts)
  addTelemetryRoutes(router, parts)
  addEnvironmentRoutes(router, parts)
  addDesiredRoutes(router, parts)
  addRolloutRoutes(router, parts)
  addAccountRoutes(router, parts)
  addSolutionUserRoutes(router, parts)
  addLoginPageRoutes(router, parts)
  addMemberRoutes(router, parts)
  addEnvironmentTokenRoutes(router, parts)
  addRegistryRoutes(router, parts)
  addPackageRoutes(router, parts)
  addPipelineRoutes(router, parts)
  return router
}
