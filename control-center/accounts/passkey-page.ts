import type { Context } from 'koa'
import type { PasskeyPage } from '../../base/accounts/passkey-requests.ts'
import { cookieScopeOf, originOf, REALM } from '../access/page-sessions.ts'
import { localeOf } from '../pages/page.ts'

/** The control center's name in authenticator apps and passkeys. */
export const TITLE = 'Solhost control center'

/** Returns the page's data that passkey requests need: its origin, cookie scope, language and title. */
export function passkeyPageOf(ctx: Context): PasskeyPage & { readonly locale: string } {
  const solution = { name: REALM, manifest: { title: TITLE } }
  return { ctx, scope: cookieScopeOf(ctx), serverUrl: originOf(ctx), locale: localeOf(ctx), solution }
}
