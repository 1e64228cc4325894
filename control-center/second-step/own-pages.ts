import type Router from '@koa/router'
import type { Context } from 'koa'
import type { User } from '../../base/accounts/users.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { callerOf } from '../access/access.ts'
import type { PageSession } from '../access/page-sessions.ts'
import { requireOwnForm } from '../accounts/own-form.ts'
import type { SecondStepParts } from './parts.ts'

/** A request from a person who is signed in. */
export type Asked = { readonly ctx: Context; readonly user: User; readonly session: PageSession }
export type Fields = ReadonlyMap<string, string>

/** Adds a page for a person's own account: a plain form that works without JavaScript. */
export function addOwnPage(
  router: Router,
  path: string,
  show: (asked: Asked, parts: SecondStepParts) => Promise<void>,
  submit: (asked: Asked, fields: Fields, parts: SecondStepParts) => Promise<void>,
  parts: SecondStepParts,
): void {
  const askedBy = (ctx: Context): Asked | null => {
    const caller = callerOf(ctx)
    return caller?.kind === 'person' ? { ctx, ...caller } : null
  }
  router.get(path, async (ctx) => {
    requireNavigation(ctx)
    const asked = askedBy(ctx)
    if (asked === null) return goTo(ctx, `/sign-in?to=${encodeURIComponent(`${ctx.path}${ctx.search}`)}`)
    await show(asked, parts)
  })
  router.post(path, async (ctx) => {
    requireOwnForm(ctx)
    const asked = askedBy(ctx)
    if (asked === null) return goTo(ctx, '/sign-in')
    const fields = await readForm(ctx, parts.limits)
    if (!parts.pageSessions.isCsrfToken(asked.session.cookie, fields.get('csrf_token') ?? '')) {
      throw new PlatformError('ERR_FOREIGN_ORIGIN', 'This form has expired. Open the page again.')
    }
    await submit(asked, fields, parts)
  })
}
