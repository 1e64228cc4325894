import { LOGIN_STATE_NAMES } from '../../base/bundles/login-states.ts'
import { defaultLoginTemplate } from '../../base/web/pages.ts'
import { WARNING_CODES } from '../../runtime/bundle/faults.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { activeBundle, lookAtLoginPage } from '../login/login-page-facts.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { findSolution } from '../solutions/find-solution.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

export type LoginPageApiParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly limits: Limits
}

const LoginPage = z
  .object({
    hasTemplate: z.boolean().describe('whether the active version has a media/login.html'),
    isUsed: z
      .boolean()
      .describe('false if the default page is shown, because the template is missing or has no login form'),
    warnings: z.array(
      z.object({
        file: z.string(),
        line: z.int().optional(),
        column: z.int().optional(),
        code: z.enum(Object.keys(WARNING_CODES)),
        message: z.string(),
        source: z.string().nullable().describe('the source line that the message refers to'),
        advice: z.string().nullable(),
      }),
    ),
    locales: z.array(z.string()),
    states: z.array(z.enum(LOGIN_STATE_NAMES)),
  })
  .meta({ id: 'LoginPage' })

/** Routes for a solution's login page, and for the default template, which authors can start from. */
export function loginPageRoutes({ store, catalog, limits }: LoginPageApiParts): AdminRoute[] {
  return [
    route(
      'GET /solutions/:name/login-page',
      {
        summary:
          'Get information about the active version’s login page: whether it has a template, its warnings, and the states that a preview can show',
        right: 'solutions:{name}:read',
        answers: { 200: LoginPage },
      },
      async ({ params: { name } }) => {
        const solution = await catalog.need(name)
        return lookAtLoginPage(solution, await activeBundle(store, solution), limits)
      },
    ),
    route(
      'GET /solutions/:name/login-page/template',
      {
        summary: 'Get the default login page with its placeholders. The draft template `login-page` adds the same page',
        right: 'solutions:{name}:read',
        before: ({ params }) => findSolution(store, params.name),
        answers: { 200: { description: 'the page', type: 'text/html' } },
      },
      ({ ctx }) => {
        ctx.type = 'text/html; charset=utf-8'
        ctx.attachment('login.html')
        return defaultLoginTemplate()
      },
    ),
  ]
}
