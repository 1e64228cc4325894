import Router from '@koa/router'
import { addGuideRoutes } from '../base/http/guides.ts'
import type { Access } from './access/access.ts'
import { type AccessPageParts, addAccessPages } from './accounts/access-pages.ts'
import { addForgotPages, type ForgotPageParts } from './accounts/forgot-pages.ts'
import { addInvitationPages, type InvitationPageParts } from './accounts/invitation-pages.ts'
import { type AccountPageParts, addAccountPages } from './accounts/pages.ts'
import { addDesiredPages, type DesiredPageParts } from './desired/pages.ts'
import { addCredentialPages, type CredentialPageParts } from './environments/credentials-page.ts'
import { addEnvironmentPages, type EnvironmentPageParts } from './environments/pages.ts'
import { addLoginPagePages, type LoginPagePageParts } from './login-pages/pages.ts'
import { addMemberPages, type MemberPageParts } from './organisations/members-page.ts'
import { addOrganisationPages, type OrganisationPageParts } from './organisations/pages.ts'
import { addPackagePages, type PackagePageParts } from './packages/pages.ts'
import { createPageRouter } from './pages/page.ts'
import { addScriptRoute } from './pages/script.ts'
import { type ArtifactPageParts, addArtifactPage } from './pipelines/artifacts-page.ts'
import { addPipelinePages, type PipelinePageParts } from './pipelines/pages.ts'
import { addRolloutPages, type RolloutPageParts } from './rollouts/pages.ts'
import { addAccountPage } from './second-step/account-page.ts'
import { addConfirmPage } from './second-step/confirm-page.ts'
import type { SecondStepParts } from './second-step/parts.ts'
import { addStepPages } from './second-step/step-pages.ts'
import { addSolutionUserPages, type SolutionUserPageParts } from './solution-users/pages.ts'
import { addPublicUserPages, type PublicUserPageParts } from './solution-users/public-pages.ts'
import { addStartPage, type StartPageParts } from './start/pages.ts'
import { addTelemetryPages, type TelemetryPageParts } from './telemetry/pages.ts'

export type CenterPageParts = DesiredPageParts &
  RolloutPageParts &
  AccountPageParts &
  ForgotPageParts &
  InvitationPageParts &
  SecondStepParts &
  CredentialPageParts &
  MemberPageParts &
  AccessPageParts &
  SolutionUserPageParts &
  PublicUserPageParts &
  LoginPagePageParts &
  OrganisationPageParts &
  PackagePageParts &
  ArtifactPageParts &
  PipelinePageParts &
  TelemetryPageParts &
  StartPageParts &
  EnvironmentPageParts & { readonly access: Access }

/**
 * All pages. The pages added to `pages` only show data. Their scripts (control-center/web/scripts/) make changes
 * through the API, so these pages can't do anything that the API can't. Other pages, such as the sign-in, handle their
 * own forms.
 */
export function centerPages(parts: CenterPageParts): Router {
  const router = new Router({ sensitive: true, strict: true })
  addScriptRoute(router)
  addGuideRoutes(router)
  const pages = createPageRouter(router, parts.access)
  addAccountPages(router, parts)
  addStepPages(router, parts)
  addAccountPage(router, parts)
  addConfirmPage(router, parts)
  addForgotPages(router, parts)
  addInvitationPages(router, parts)
  addPublicUserPages(router, parts)
  addOrganisationPages(pages, router, parts)
  addStartPage(pages, parts)
  addEnvironmentPages(pages, parts)
  addTelemetryPages(pages, parts)
  addDesiredPages(pages, parts)
  addRolloutPages(pages, router, parts)
  addMemberPages(pages, parts)
  addAccessPages(pages, parts)
  addCredentialPages(pages, parts)
  addSolutionUserPages(pages, parts)
  addLoginPagePages(pages, router, parts)
  addPackagePages(pages, parts)
  addArtifactPage(pages, parts)
  addPipelinePages(pages, parts)
  return router
}
