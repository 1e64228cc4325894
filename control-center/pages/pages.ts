import Router from '@koa/router'
import type { Access } from '../access/access.ts'
import { type AccountPageParts, addAccountPages } from '../accounts/pages.ts'
import { addEnvironmentPages, type EnvironmentPageParts } from '../environments/pages.ts'
import { addOrganisationPages, type OrganisationPageParts } from '../organisations/pages.ts'
import { createPageRouter } from './page.ts'
import { addScriptRoute } from './script.ts'

export type CenterPageParts = AccountPageParts &
  OrganisationPageParts &
  EnvironmentPageParts & { readonly access: Access }

/**
 * All pages. They read what they show; what changes something goes through the API, from the page's own script
 * (control-center/web/scripts/), so that nothing can be done here that cannot be done there.
 */
export function centerPages(parts: CenterPageParts): Router {
  const router = new Router({ sensitive: true, strict: true })
  addScriptRoute(router)
  const pages = createPageRouter(router, parts.access)
  addAccountPages(router, parts)
  addOrganisationPages(pages, router, parts)
  addEnvironmentPages(pages, parts)
  return router
}
