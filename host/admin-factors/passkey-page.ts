import type { Context } from 'koa'
import { type AddedFactor, addPasskey } from '../../base/accounts/add-passkey.ts'
import { checkForm, enteredMethod, type FactorAnswer, outcomeOf } from '../../base/accounts/check-factor.ts'
import type { PasskeyPage, PasskeyPurpose } from '../../base/accounts/passkey-requests.ts'
import type { PasskeyUser } from '../../base/accounts/passkeys.ts'
import { waysOf } from '../../base/accounts/usable-factors.ts'
import { stateOf } from '../../base/http/request.ts'
import { adminOrigin } from '../access/admit-page-session.ts'
import { localeOf, textFor } from '../pages/page.ts'
import { ADMIN_FACTORS, noteAdmin, REALM } from './admin-factors.ts'
import type { AdminFactorPageParts } from './page-parts.ts'

/** The service name that authenticator apps and passkeys show to the operator. */
export function titleOf(ctx: Context): string {
  return `Solhost ${textFor(ctx)('admin.area')}`
}

/** Describes the requested admin page for passkey requests. */
export function passkeyPageOf(ctx: Context): PasskeyPage & { readonly locale: string } {
  const scope = { realm: REALM, secure: stateOf(ctx).client.protocol === 'https', ownHost: true }
  const solution = { name: REALM, manifest: { title: titleOf(ctx) } }
  return { ctx, scope, serverUrl: adminOrigin(ctx), locale: localeOf(ctx), solution }
}

/** The factors that a page lets the user choose from. */
export function adminWaysOf(ctx: Context, purpose: PasskeyPurpose, { factors, adminPasskeys }: AdminFactorPageParts) {
  return waysOf(passkeyPageOf(ctx), purpose, ADMIN_FACTORS, { factors, passkeyRequests: adminPasskeys })
}

/** Checks the form of a page that asks for a factor, and records the attempt in the audit log. */
export async function checkAdminForm(
  ctx: Context,
  purpose: 'second-step' | 'confirm',
  fields: ReadonlyMap<string, string>,
  parts: AdminFactorPageParts,
): Promise<FactorAnswer> {
  const checking = { ...parts, passkeyRequests: parts.adminPasskeys }
  const answer = await checkForm(passkeyPageOf(ctx), purpose, ADMIN_FACTORS, fields, checking)
  noteAdmin(ctx, purpose, outcomeOf(answer), parts, enteredMethod(fields))
  if (answer.kind === 'copied') noteAdmin(ctx, 'passkey-clone', 'refused', parts)
  return answer
}

/** Registers the passkey that the browser has just created during a sign-in. */
export function addAdminPasskey(
  ctx: Context,
  answer: string,
  { adminPasskeys, limits, settings }: AdminFactorPageParts,
): Promise<AddedFactor> {
  const page = passkeyPageOf(ctx)
  const parts = { passkeyRequests: adminPasskeys, limits }
  return addPasskey(page, 'set-up', ADMIN_FACTORS, adminUser(page.locale, { settings }), answer, parts)
}

/** The admin account as the owner of its passkeys. */
export function adminUser(locale: string, { settings }: Pick<AdminFactorPageParts, 'settings'>): PasskeyUser {
  return { username: settings.adminName, permissions: [], tenant: null, locale }
}
