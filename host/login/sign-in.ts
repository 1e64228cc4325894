import { hash } from 'node:crypto'
import type { Context } from 'koa'
import { type FactorAccount, factorAccount } from '../../base/accounts/factor-account.ts'
import type { KnownBrowsers } from '../../base/accounts/known-browser.ts'
import type { PasskeyRequests } from '../../base/accounts/passkey-requests.ts'
import { type Ended, Refusal, type WayOfSigningIn, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import { isSourceAway } from '../../base/accounts/source-away.ts'
import { checkCounted, type Throttle } from '../../base/accounts/throttle.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { noEffects } from '../../base/bundles/host-call.ts'
import type { LoginPage } from '../../base/bundles/login-page.ts'
import { LOGIN_STATES, type LoginStateName } from '../../base/bundles/login-states.ts'
import { mayGrant } from '../../base/bundles/prepared-solution.ts'
import { readForm, readQuery } from '../../base/http/read-body.ts'
import type { Sites } from '../../base/http/sites.ts'
import { type ErrorCode, PlatformError } from '../../runtime/errors.ts'
import type { Failed } from '../../runtime/outcome.ts'
import { retryAfter } from '../http/retry-after.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import type { AccountSources, FormSource } from './account-sources.ts'
import { type Arrival, readArrival } from './arrival.ts'
import { auditFactor } from './audit-factor.ts'
import type { ChangePasswordPages } from './change-password.ts'
import type { LoginPageSender } from './login-page.ts'
import type { LoginTokens } from './login-token.ts'
import { cameFromOwnPage } from './own-page.ts'
import { customFields, keptFields } from './query-params.ts'
import { redirectSignedIn, type SignedIn } from './redirect-signed-in.ts'
import { requestedPage } from './requested-page.ts'
import { type FirstStep, passwordOf } from './second-step-gate.ts'
import type { Accepted, SignInAnswer } from './sign-in-answer.ts'
import type { FormMode } from './sign-in-mode.ts'
import {
  acceptSignIn,
  auditSignIn,
  BASIS_OF_TOKEN,
  type SessionBasis,
  type SessionParts,
  valuesOf,
} from './start-session.ts'

export type SignInParts = SessionParts & {
  readonly sites: Sites
  readonly accountSources: AccountSources
  readonly throttle: Throttle
  readonly knownBrowsers: KnownBrowsers
  readonly loginTokens: LoginTokens
  readonly changePassword: ChangePasswordPages
  readonly sendLoginPage: LoginPageSender
  readonly passkeyRequests: Pick<PasskeyRequests, 'use'>
}

/** A sign-in attempt, with everything that the browser sent. */
type Attempt = Arrival & { readonly source: FormSource; readonly fields: ReadonlyMap<string, string> }

type Shown = Pick<Attempt, 'ctx' | 'solution' | 'locale' | 'fields'>

/** The login page's state for each error that keeps the source from checking the credentials. */
const AWAY: Partial<Record<ErrorCode, LoginStateName>> = {
  ERR_DATABASE_UNREACHABLE: 'unavailable',
  ERR_CLOUD_UNREACHABLE: 'cloudAway',
  ERR_CLOUD_REFUSED: 'cloudRefused',
  ERR_DIRECTORY_UNREACHABLE: 'directoryAway',
  ERR_DIRECTORY_REFUSED: 'directoryAway',
}
/** The default `Retry-After` in seconds, for errors without a time. */
const RETRY_AFTER = 5

/** The failure if more passwords are being checked than the machine can handle at the same time. */
const PASSWORDS_BUSY: Failed = {
  code: 'sandbox_busy',
  message: 'too many passwords are being checked at the same time',
  milliseconds: 0,
}

type Refused = Omit<Extract<SignInAnswer, { kind: 'refused' }>, 'kind'>
const REFUSED: Refused = { effects: noEffects(), values: {} }
const PASSKEY_REFUSED: Refused = { ...REFUSED, state: 'passkeyRefused' }

/** Responds to GET with the login page, without running the authenticator. */
export function showLoginPage(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  sendLoginPage: LoginPageSender,
): Promise<void> {
  const url = readQuery(ctx)
  return sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    ...(url.has('password-changed') ? LOGIN_STATES.passwordChanged : LOGIN_STATES.first),
    fields: keptFields(url, { username: false }),
  })
}

/** `passkeyOf` is the account of a user who signed in with a passkey. */
type Checked = Accepted & { readonly passkeyOf?: FactorAccount }

/** Handles a name and password entered on the login page. */
export const BY_PASSWORD: WayOfSigningIn<Attempt, Attempt, Checked, SignedIn, SignInParts> = {
  ownPage: checkPage,
  throttle: (attempt, parts) => countAttempt(attempt, isKnown(attempt, parts), parts),
  source: checkPassword,
  secondStep: (attempt, accepted, parts) => parts.secondStep.check(attempt, firstStepOf(attempt, accepted)),
  accept: acceptCredentials,
  audit: auditSignIn,
  redirect: redirectSignedIn,
  failed: refusalOfError,
}

/** Handles a passkey that the login page sends. A passkey completes both steps of a sign-in. */
export const BY_PASSKEY: typeof BY_PASSWORD = {
  ...BY_PASSWORD,
  // Count the attempt only towards the network's limit, because the account is unknown.
  throttle: (attempt, parts) => countAttempt(attempt, true, parts),
  source: checkPasskey,
}

/** Handles a login token that the login page sends. See `USE_LOGIN_TOKEN` in login-page.ts. */
export const BY_LOGIN_TOKEN: typeof BY_PASSWORD = {
  ...BY_PASSWORD,
  // Count the attempt only towards the network's limit, because the account is unknown.
  throttle: (attempt, parts) => countAttempt(attempt, true, parts),
  source: checkLoginToken,
  secondStep: { none: 'The issuer of the login token vouches for the user.' },
  accept: acceptLoginToken,
}

/** Handles the login page's form. */
export async function signIn(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  mode: FormMode,
  parts: SignInParts,
): Promise<void> {
  const { sites, accountSources, limits } = parts
  const fields = await readForm(ctx, limits)
  const attempt = { ...readArrival(ctx, solution, locale, sites), fields, source: accountSources.ofForm(mode) }
  const way = fields.get('id_token') ? BY_LOGIN_TOKEN : fields.get('passkey') ? BY_PASSKEY : BY_PASSWORD
  await walkSignIn(way, attempt, parts)
}

/**
 * Checks that the form came from the platform's own page. If not, for example because the page has expired, the user
 * gets a new page with their input.
 */
function checkPage(attempt: Attempt, { formTokens, sendLoginPage }: SignInParts): Attempt | Refusal {
  if (cameFromOwnPage(attempt, attempt.fields, formTokens)) return attempt
  return new Refusal(null, () => sendState(attempt, LOGIN_STATES.expired, sendLoginPage))
}

async function countAttempt(attempt: Attempt, known: boolean, parts: SignInParts): Promise<Refusal | null> {
  const wait = await parts.throttle.count(counted(attempt), known)
  return wait === null ? null : throttled(attempt, wait, parts)
}

async function checkPassword(attempt: Attempt, parts: SignInParts): Promise<Refusal | Checked> {
  const { throttle } = parts
  const known = isKnown(attempt, parts)
  const check = () => attempt.source.check(attempt, attempt.fields)
  const answer = await checkCounted(throttle, counted(attempt), known, check)
  if (answer.kind === 'failed') return failed(attempt, answer.failure, parts)
  // The state is `verify` only if the password was correct, so the attempt doesn't count as a guess.
  const isRight = answer.kind === 'accepted' || answer.state === 'verify'
  if (isRight) await throttle.succeeded(counted(attempt), known)
  return answer.kind === 'accepted' ? answer : refused(attempt, answer, parts)
}

/** Checks a passkey, which identifies the user. The source then decides whether they may sign in. */
async function checkPasskey(attempt: Attempt, parts: SignInParts): Promise<Refusal | Checked> {
  const { solution, source, fields } = attempt
  const used = await parts.passkeyRequests.use(attempt, 'sign-in', null, fields.get('passkey') ?? '')
  if (used.kind === 'copied') auditFactor(attempt, used.user, 'passkey-clone', 'refused', parts)
  // A passkey that did not verify its user is accepted only as a second step.
  if (used.kind !== 'right' || !used.isVerified) return refused(attempt, PASSKEY_REFUSED, parts)
  const { account } = used
  // Scripts may also sign in users in the users table.
  const isOfSource = account.source === source.name || (source.name === '' && account.source === 'users')
  if (!isOfSource || (account.source !== 'users' && account.solution !== solution.name)) {
    return refused(attempt, PASSKEY_REFUSED, parts)
  }
  const answer = await source.checkPasskey(attempt, used, fields)
  if (answer.kind === 'failed') return failed(attempt, answer.failure, parts)
  if (answer.kind === 'refused') return refused(attempt, { ...answer, state: answer.state ?? 'passkeyRefused' }, parts)
  await parts.throttle.succeeded(counted(attempt), true)
  return { ...answer, passkeyOf: account }
}

/** Signs in the user named in a login token, if the solution's scripts could grant the token's permissions. */
async function checkLoginToken(attempt: Attempt, parts: SignInParts): Promise<Refusal | Checked> {
  const { solution, fields } = attempt
  const login = await parts.loginTokens.consume(solution.name, fields.get('id_token') ?? '')
  if (login === null || !mayGrant(solution, login.permissions)) return refused(attempt, REFUSED, parts)
  return { kind: 'accepted', login, effects: { ...noEffects(), login }, user: null }
}

async function acceptCredentials(attempt: Attempt, accepted: Checked, parts: SignInParts): Promise<Refusal | SignedIn> {
  const { ctx, solution, scope, locale, source } = attempt
  const { user } = accepted
  if (user?.mustChangePassword) {
    return new Refusal(null, () => parts.changePassword.demand(ctx, solution, locale, user))
  }
  const { remember, methods, account, knownAs } = firstStepOf(attempt, accepted)
  const basis: SessionBasis = {
    source: source.name,
    providerLogin: null,
    factorsOf: account.source,
    methods,
    isConfirmed: true,
    stillHolds: () => source.stillHolds(attempt, accepted, null),
  }
  const session = await acceptSignIn(attempt, accepted, basis, remember, parts)
  if (session === null) return refused(attempt, REFUSED, parts)
  if (knownAs !== null) parts.knownBrowsers.note(ctx, scope, knownAs.source, knownAs.username)
  return signedIn(attempt, accepted)
}

function firstStepOf(attempt: Attempt, { login, effects, user, passkeyOf }: Checked): FirstStep {
  const { ctx, solution, source, fields } = attempt
  // Not null if a script signed in a user in the users table, after checking their password there.
  const ofTable = source.name === '' ? passwordOf(effects, login) : null
  return {
    account: passkeyOf ?? factorAccount(ofTable === null ? source.name : 'users', solution.name, login.uid),
    login,
    ...valuesOf(attempt, effects),
    showUrl: effects.showUrl,
    page: requestedPage(ctx),
    source: source.name,
    providerLogin: null,
    methods: [passkeyOf === undefined ? source.method : 'passkey'],
    remember: (fields.get('remember') ?? '') === '' ? null : { custom: customFields(attempt.url, fields) },
    // Don't recognise the browser after a passkey sign-in. No password was entered, and the name in the form may be
    // someone else's.
    knownAs: passkeyOf === undefined ? knownAccount(attempt) : null,
    password: user ?? ofTable,
    isRaised: effects.needsSecondFactor === true,
  }
}

async function acceptLoginToken(attempt: Attempt, accepted: Accepted, parts: SignInParts): Promise<Refusal | SignedIn> {
  const session = await acceptSignIn(attempt, accepted, BASIS_OF_TOKEN, null, parts)
  return session === null ? refused(attempt, REFUSED, parts) : signedIn(attempt, accepted)
}

function signedIn({ ctx, locale }: Attempt, { login, effects }: Accepted): SignedIn {
  return { username: login.username, showUrl: effects.showUrl, page: requestedPage(ctx), locale }
}

function counted({ source, solution, fields, address }: Attempt) {
  return { source: source.countedAs(solution), username: fields.get('username') ?? '', address }
}

/**
 * Returns the account for which the browser is recognised. It depends on the `custom_*` fields: a script may use one for
 * the tenant, and the same name in another tenant is another account. The counters don't depend on them, because
 * attackers could vary fields that the script ignores.
 */
function knownAccount(attempt: Attempt): NonNullable<FirstStep['knownAs']> {
  const { source, username } = counted(attempt)
  const custom = Object.entries(customFields(attempt.url, attempt.fields)).sort()
  // A hash, because a field may contain a second password.
  return { source: custom.length === 0 ? source : `${source} ${hash('sha256', JSON.stringify(custom))}`, username }
}

function isKnown(attempt: Attempt, { knownBrowsers }: SignInParts): boolean {
  const { source, username } = knownAccount(attempt)
  return knownBrowsers.isKnown(attempt.ctx, attempt.scope, source, username)
}

/**
 * Shows the login page if the source of a remembered user is unreachable or busy.
 * @throws the error if the login page has no state for it
 */
export function showRecheckError(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  error: unknown,
  { sendLoginPage }: SignInParts,
): Promise<void> {
  // An unreachable database has a separate error page, because without it the host can't read the browser's session.
  const isShown = isSourceAway(error) || (error instanceof PlatformError && error.code === 'ERR_THROTTLED')
  if (!isShown) throw error
  const fields = keptFields(readQuery(ctx), { username: false })
  return sendAway({ ctx, solution, locale, fields }, error, sendLoginPage)
}

/** Shows the login page after the check of a remembered user failed. The browser keeps its cookie. */
export function showRecheckFailure(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  failure: Failed,
  { sendLoginPage }: SignInParts,
): Promise<void> {
  return showFailure({ ctx, solution, locale, fields: new Map() }, failure, 200, sendLoginPage)
}

/** Handles a rejection by the source, which is not an error. */
function refused(attempt: Attempt, { effects, values, state }: Refused, { sendLoginPage }: SignInParts): Refusal {
  const { ctx, solution, locale, fields, serverUrl } = attempt
  return new Refusal(endedBy(attempt, 'refused'), () => {
    if (effects.showUrl !== null) return sendToAddress(ctx, effects.showUrl, serverUrl, locale)
    ctx.set('WWW-Authenticate', `FormBased realm="${solution.name}"`)
    return sendLoginPage(ctx, solution, {
      ...LOGIN_STATES[state ?? 'refused'],
      locale: effects.locale ?? locale,
      values,
      messages: effects.messages,
      fields: keptFields(fields, { username: true }),
    })
  })
}

function throttled(attempt: Attempt, seconds: number, { sendLoginPage }: SignInParts): Refusal {
  return new Refusal({ ...endedBy(attempt, 'throttled'), isRepeatable: true }, () => {
    attempt.ctx.set('Retry-After', String(seconds))
    return sendState(attempt, LOGIN_STATES.throttled, sendLoginPage)
  })
}

function failed(attempt: Attempt, failure: Failed, { sendLoginPage }: SignInParts): Refusal {
  return new Refusal(endedBy(attempt, failure.code), () => showFailure(attempt, failure, 401, sendLoginPage))
}

/** @throws the error if the login page has no state for it */
function refusalOfError(attempt: Attempt, error: unknown, parts: SignInParts): Refusal {
  if (!(error instanceof PlatformError)) throw error
  if (error.code === 'ERR_PASSWORDS_BUSY') return failed(attempt, PASSWORDS_BUSY, parts)
  // The control center limits attempts, too.
  if (error.code === 'ERR_THROTTLED') return throttled(attempt, waitOf(error), parts)
  if (AWAY[error.code] === undefined) throw error
  const ended = { ...endedBy(attempt, error.code), isRepeatable: true }
  return new Refusal(ended, () => sendAway(attempt, error, parts.sendLoginPage))
}

function endedBy({ fields }: Attempt, outcome: string): Ended {
  return { outcome, username: fields.get('username') ?? '' }
}

/**
 * Handles a failure of the source, which neither accepted nor rejected the user. The user sees an error and an id that
 * is also in the log.
 * @param status the status of the page, unless the host is busy
 */
function showFailure(shown: Shown, failure: Failed, status: 200 | 401, sendLoginPage: LoginPageSender): Promise<void> {
  const { ctx, solution } = shown
  if (failure.code === 'sandbox_busy') {
    const seconds = retryAfter(failure)
    ctx.set('Retry-After', String(seconds))
    const { notice, ...busy } = LOGIN_STATES.busy
    return sendState(shown, { ...busy, notice: { ...notice, values: [seconds] } }, sendLoginPage)
  }
  if (status === 401) ctx.set('WWW-Authenticate', `FormBased realm="${solution.name}"`)
  return sendState(shown, { ...LOGIN_STATES.outcome, status }, sendLoginPage)
}

function sendAway(shown: Shown, error: PlatformError, sendLoginPage: LoginPageSender): Promise<void> {
  shown.ctx.set('Retry-After', String(waitOf(error)))
  return sendState(shown, LOGIN_STATES[AWAY[error.code] ?? 'throttled'], sendLoginPage)
}

function waitOf({ details }: PlatformError): number {
  return typeof details.retryAfter === 'number' ? details.retryAfter : RETRY_AFTER
}

/** Sends the login page in this state. It shows the user's input again, except passwords. */
function sendState(
  { ctx, solution, locale, fields }: Shown,
  state: Pick<LoginPage, 'status' | 'failed' | 'notice'>,
  sendLoginPage: LoginPageSender,
): Promise<void> {
  return sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    ...state,
    fields: keptFields(fields, { username: true }),
  })
}

function emptyPage(locale: string): Omit<LoginPage, 'status' | 'failed'> {
  return { locale, values: {}, messages: new Map(), fields: new Map() }
}
