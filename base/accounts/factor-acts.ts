import type { Limits } from '../../runtime/limits.ts'
import { goTo } from '../http/go-to.ts'
import { platformText } from '../web/texts.ts'
import { addApp } from './add-app.ts'
import { addPasskey } from './add-passkey.ts'
import type { FactorParts } from './check-factor.ts'
import type { FactorAccount } from './factor-account.ts'
import type { Factor } from './factors.ts'
import { type NewApp, type NewAppParts, newAppOf, readSetUpSecret } from './new-app.ts'
import type { PasskeyPage } from './passkey-requests.ts'
import type { PasskeyUser } from './passkeys.ts'
import type { SignInMethod } from './sign-in-methods.ts'

/** The page on which users manage the factors of their account. */
export type FactorPage = {
  readonly page: PasskeyPage & { readonly locale: string }
  readonly account: FactorAccount
  readonly user: PasskeyUser
  readonly path: string
  /** Records a change in the audit log. */
  readonly note: (action: 'factor-add' | 'factor-remove', outcome: 'ok' | 'refused') => void | Promise<void>
  /** Marks the session as confirmed, because a user who adds a factor also proves that they have it. */
  readonly confirm: (method: SignInMethod) => Promise<void>
  /** Ends the account's other sessions and remembered logins. */
  readonly endOthers: () => Promise<void>
  /** Whether the account must keep this factor, because it is the last one that the policy accepts. */
  readonly mustKeep: (id: string, factors: readonly Factor[]) => Promise<boolean>
  readonly show: {
    readonly account: (refusal: string, status: number) => Promise<void>
    readonly newApp: (app: NewApp, refusal: string | null, status: number) => void
    /** @param passkey the options of `navigator.credentials.create`, as JSON */
    readonly newPasskey: (passkey: string, refusal: string | null, status: number) => void
    readonly codes: (codes: readonly string[]) => void
  }
}

export type FactorActParts = FactorParts & NewAppParts & { readonly limits: Limits }
type Fields = ReadonlyMap<string, string>
/** Handles a form of the page. Call this only if the session is confirmed. */
export type FactorAct = (on: FactorPage, fields: Fields, parts: FactorActParts) => Promise<void>

/** The actions of the page's forms, by the value of the form field `act`. */
export const FACTOR_ACTS: ReadonlyMap<string, FactorAct> = new Map<string, FactorAct>([
  ['new-app', async (on, _fields, parts) => showNewApp(on, parts.apps.newSecret(), null, 200, parts)],
  ['add-app', addNewApp],
  ['new-passkey', (on, _fields, parts) => showNewPasskey(on, null, 200, parts)],
  ['add-passkey', addNewPasskey],
  ['remove', removeFactor],
  ['new-codes', renewCodes],
])

async function addNewApp(on: FactorPage, fields: Fields, parts: FactorActParts): Promise<void> {
  const { page, account, path } = on
  const secret = readSetUpSecret(account, fields.get('setup') ?? '', parts)
  if (secret === null) return goTo(page.ctx, path)
  const added = await addApp(account, { secret, code: fields.get('code') ?? '', locale: page.locale }, parts, true)
  if (added.kind === 'refused') return showNewApp(on, secret, added.refusal, 401, parts)
  if (added.kind === 'taken') return goTo(page.ctx, path)
  await noteAdded(on, added.method)
  await sendNewCodes(on, parts)
}

async function addNewPasskey(on: FactorPage, fields: Fields, parts: FactorActParts): Promise<void> {
  const { page, account, user, path } = on
  const added = await addPasskey(page, 'account', account, user, fields.get('passkey') ?? '', parts)
  if (added.kind === 'refused') return showNewPasskey(on, added.refusal, 401, parts)
  await noteAdded(on, added.method)
  // When a user adds another factor, the recovery codes that they saved with the first one stay valid.
  const { recoveryCodesLeft } = await parts.factors.of(account)
  if (recoveryCodesLeft === 0) return sendNewCodes(on, parts)
  goTo(page.ctx, path)
}

async function noteAdded(on: FactorPage, method: SignInMethod): Promise<void> {
  await on.note('factor-add', 'ok')
  await on.confirm(method)
  await on.endOthers()
}

async function removeFactor(on: FactorPage, fields: Fields, { factors }: FactorActParts): Promise<void> {
  const { page, account, path } = on
  const id = fields.get('id') ?? ''
  if (await on.mustKeep(id, (await factors.of(account)).factors)) {
    await on.note('factor-remove', 'refused')
    return on.show.account(platformText(page.locale, 'platform.account.lastfactor'), 409)
  }
  if (await factors.remove(account, id)) {
    await on.note('factor-remove', 'ok')
    await on.endOthers()
  }
  goTo(page.ctx, path)
}

async function renewCodes(on: FactorPage, _fields: Fields, parts: FactorActParts): Promise<void> {
  const { factors } = await parts.factors.of(on.account)
  if (factors.length === 0) return goTo(on.page.ctx, on.path)
  await on.note('factor-add', 'ok')
  on.show.codes(await parts.recoveryCodes.renew(on.account))
}

async function sendNewCodes({ account, show }: FactorPage, { recoveryCodes }: FactorActParts): Promise<void> {
  show.codes(await recoveryCodes.create(account))
}

function showNewApp(
  { page, account, user, show }: FactorPage,
  secret: string,
  refusal: string | null,
  status: number,
  parts: FactorActParts,
): void {
  show.newApp(newAppOf(page.solution.manifest, { account, login: user }, secret, parts), refusal, status)
}

async function showNewPasskey(
  { page, account, user, path, show }: FactorPage,
  refusal: string | null,
  status: number,
  { passkeyRequests }: FactorActParts,
): Promise<void> {
  const passkey = await passkeyRequests.offer(page, 'account', account, user.username)
  if (passkey === null) return goTo(page.ctx, path)
  show.newPasskey(passkey, refusal, status)
}
