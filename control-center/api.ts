import Router from '@koa/router'
import { addDescription, openApi } from '../base/api/open-api.ts'
import { type AccessApiParts, accessRoutes } from './access/api.ts'
import type { Right } from './access/roles.ts'
import {
  addMemberRoutes,
  addPersonRoutes,
  type MemberRoute,
  type PersonRoute,
  type RouteParts,
} from './access/route.ts'
import { type AccountApiParts, accountRoutes } from './accounts/api.ts'
import { type DesiredApiParts, desiredRoutes } from './desired/api.ts'
import { type EnvironmentApiParts, environmentRoutes } from './environments/api.ts'
import { type EnvironmentTokenApiParts, environmentTokenRoutes } from './environments/tokens-api.ts'
import { type LoginPageApiParts, loginPageRoutes } from './login-pages/api.ts'
import { type OrganisationApiParts, organisationRoutes, ownOrganisationRoutes } from './organisations/api.ts'
import { type MemberApiParts, memberRoutes } from './organisations/members-api.ts'
import { type PackageApiParts, packageRoutes } from './packages/api.ts'
import { type PipelineApiParts, pipelineRoutes } from './pipelines/api.ts'
import { type RegistryApiParts, registryRoutes } from './registries/api.ts'
import { type RolloutApiParts, rolloutRoutes } from './rollouts/api.ts'
import {
  type SolutionUserApiParts,
  solutionRoleRoutes,
  solutionRoutes,
  solutionUserRoutes,
} from './solution-users/api.ts'
import { type TelemetryApiParts, telemetryRoutes } from './telemetry/api.ts'

type AreaParts = DesiredApiParts &
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
  RegistryApiParts

export type CenterApiParts = AreaParts & RouteParts & { readonly version: string }

const PREFIX = '/api'

/** The API under `/api`, for the script on the pages and for tools with an API token. */
export function centerApi(parts: CenterApiParts): Router {
  const router = new Router({ prefix: PREFIX, sensitive: true })
  addDescription(router, () => describeCenterApi(parts.version))
  // Add this check to the router itself. It then applies to every path that matches a route, even if the path is in an
  // unusual notation.
  router.use(parts.access.requireCaller)
  addPersonRoutes(router, personRoutes(parts), parts)
  addMemberRoutes(router, organisationsRoutes(parts), parts)
  return router
}

function personRoutes(parts: AreaParts): PersonRoute[] {
  return [...accountRoutes(parts), ...ownOrganisationRoutes(parts)]
}

function organisationsRoutes(parts: AreaParts): MemberRoute[] {
  return [
    ...organisationRoutes(parts),
    ...memberRoutes(parts),
    ...accessRoutes(parts),
    ...environmentRoutes(parts),
    ...environmentTokenRoutes(parts),
    ...desiredRoutes(parts),
    ...rolloutRoutes(parts),
    ...packageRoutes(parts),
    ...pipelineRoutes(parts),
    ...registryRoutes(parts),
    ...solutionRoutes(parts),
    ...solutionUserRoutes(parts),
    ...solutionRoleRoutes(parts),
    ...loginPageRoutes(parts),
    ...telemetryRoutes(parts),
  ]
}

/** The OpenAPI 3.1 document of the API. */
export function describeCenterApi(version: string): object {
  // The routes are only described, never called, so they don't need their dependencies.
  const parts = { telemetry: {} } as AreaParts
  return openApi<Right | 'person'>([...personRoutes(parts), ...organisationsRoutes(parts)], {
    title: 'Solhost control center',
    version,
    prefix: PREFIX,
    securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'an API token' } },
    need: (right) =>
      right === 'person'
        ? 'Requires a signed-in user; API tokens are rejected.'
        : `Requires the permission \`${right}\`.`,
  })
}
