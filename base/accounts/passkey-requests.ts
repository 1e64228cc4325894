import type { Context } from 'koa'
import { z } from '../../runtime/zod.ts'
import type { PlatformKey } from '../config/platform-key.ts'
import type { Database } from '../database/open.ts'
import { allowPasskeys } from '../http/content-security.ts'
import type { CookieScope } from '../http/cookies.ts'
import { accountId, type FactorAccount } from './factor-account.ts'
import type { FormTokens } from './form-token.ts'
import type { PasskeyPlaces } from './passkey-places.ts'
import type { PasskeyPlace, Passkeys, PasskeyUse } from './passkeys.ts'
import { createSingleUseTokens, type TokenKind } from './single-use-token.ts'

/**
 * The kinds of pages that request a passkey. A challenge is valid only for the kind of page that it was created for.
 */
const PURPOSES = ['sign-in', 'second-step', 'set-up', 'confirm', 'account'] as const
export type PasskeyPurpose = (typeof PURPOSES)[number]

const Challenge = z.strictObject({
  purpose: z.enum(PURPOSES),
  /** The browser's id: see `FormTokens.browserOf`. */
  browser: z.string(),
  /** Null on the login page, where the passkey identifies the user. */
  account: z.string().nullable(),
})
type Challenge = z.output<typeof Challenge>

const KIND: TokenKind<Challenge> = { purpose: 'passkey-challenge', content: Challenge, longest: 1000 }

/** How long a challenge is valid, in ms. Login pages get more time, because users leave them open for longer. */
const LIFETIME = 10 * 60_000
const LIFETIME_OF_LOGIN_PAGE = 60 * 60_000

/**
 * A page that requests a passkey. `serverUrl` is its origin. `solution` is the solution that the account signs in to.
 */
export type PasskeyPage = {
  readonly ctx: Context
  readonly scope: CookieScope
  readonly serverUrl: string
  readonly solution: { readonly name: string; readonly manifest: { readonly title: string } }
}

/** Requests passkeys from browsers, and checks the responses. */
export interface PasskeyRequests {
  readonly places: PasskeyPlaces
  /**
   * Requests a passkey of a known account.
   * @returns the options for the scripts in base/web/passkeys, as JSON; null if no passkey can be used
   */
  ask(page: PasskeyPage, purpose: PasskeyPurpose, account: FactorAccount): Promise<string | null>
  /**
   * Like `ask`, but for a login page, where the user is still unknown.
   * @param hasOwnTemplate whether the solution's author wrote the page
   */
  askAnybody(page: PasskeyPage, hasOwnTemplate: boolean): Promise<string | null>
  /** Like `ask`, but for a page where a passkey is created. */
  offer(page: PasskeyPage, purpose: PasskeyPurpose, account: FactorAccount, username: string): Promise<string | null>
  /** @param account null to accept a passkey of any account */
  use(page: PasskeyPage, purpose: PasskeyPurpose, account: FactorAccount | null, answer: string): Promise<PasskeyUse>
  add(
    page: PasskeyPage,
    purpose: PasskeyPurpose,
    account: FactorAccount,
    answer: string,
    label: Parameters<Passkeys['add']>[4],
  ): ReturnType<Passkeys['add']>
  /** Deletes the records of used challenges that have expired. */
  sweep(): Promise<void>
}

/** @param now returns the current time in epoch milliseconds */
export function createPasskeyRequests(
  { db, key, passkeys, places, formTokens }: PasskeyRequestParts,
  now: () => number = Date.now,
): PasskeyRequests {
  const challenges = createSingleUseTokens<Challenge>(db, key, KIND, now)

  /** The token itself is the challenge. The passkey signs it, so it doesn't need to be stored. */
  function challengeFor(
    { ctx, scope, solution }: PasskeyPage,
    purpose: PasskeyPurpose,
    account: string | null,
  ): string {
    // This sets the cookie if the browser doesn't have it.
    formTokens.issue(ctx, scope)
    const browser = formTokens.browserOf(ctx, scope) ?? ''
    const lifetime = purpose === 'sign-in' ? LIFETIME_OF_LOGIN_PAGE : LIFETIME
    const { token } = challenges.issue(solution.name, { purpose, browser, account }, lifetime)
    return Buffer.from(token).toString('base64url')
  }

  function checkOf({ ctx, scope, solution }: PasskeyPage, purpose: PasskeyPurpose, account: string | null) {
    return async (challenge: string) => {
      const browsers = formTokens.browsersOf(ctx, scope)
      const token = Buffer.from(challenge, 'base64url').toString('utf8')
      const isMeant = (one: Challenge) =>
        one.purpose === purpose && one.account === account && browsers.includes(one.browser)
      return (await challenges.consume(solution.name, token, isMeant)) !== null
    }
  }

  async function request(
    page: PasskeyPage,
    purpose: PasskeyPurpose,
    account: FactorAccount | null,
    place: PasskeyPlace,
  ) {
    allowPasskeys(page.ctx, 'get')
    return passkeys.request(account, challengeFor(page, purpose, account && accountId(account)), place)
  }

  return {
    places,
    sweep: challenges.sweep,
    async ask(page, purpose, account) {
      const place = places.at(page.serverUrl)
      return place === null ? null : request(page, purpose, account, place)
    },
    async askAnybody(page, hasOwnTemplate) {
      const place = places.onLoginPage(page.serverUrl, hasOwnTemplate)
      return place === null ? null : request(page, 'sign-in', null, place)
    },
    async offer(page, purpose, account, username) {
      const place = places.at(page.serverUrl)
      if (place === null) return null
      allowPasskeys(page.ctx, 'create')
      const challenge = challengeFor(page, purpose, accountId(account))
      return passkeys.creation(account, challenge, { issuer: page.solution.manifest.title, username }, place)
    },
    async use(page, purpose, account, answer) {
      const place = places.at(page.serverUrl)
      if (place === null) return { kind: 'refused' }
      return passkeys.use(account, answer, checkOf(page, purpose, account && accountId(account)), place)
    },
    async add(page, purpose, account, answer, label) {
      const place = places.at(page.serverUrl)
      if (place === null) return { kind: 'refused' }
      return passkeys.add(account, answer, checkOf(page, purpose, accountId(account)), place, label)
    },
  }
}

export type PasskeyRequestParts = {
  readonly db: Database
  readonly key: PlatformKey
  readonly passkeys: Passkeys
  readonly places: PasskeyPlaces
  readonly formTokens: Pick<FormTokens, 'issue' | 'browserOf' | 'browsersOf'>
}
