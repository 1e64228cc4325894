import { createHmac, randomBytes } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../audit/audit.ts'
import { networkOf } from '../http/network.ts'
import { stateOf } from '../http/request.ts'
import type { AdminAccount } from './account.ts'
import { setActor } from './actor.ts'
import type { ApiTokens } from './api-tokens.ts'

export type AuthenticationParts = {
  readonly account: AdminAccount
  readonly tokens: ApiTokens
  readonly audit: Audit
  readonly limits: Limits
}

/** A correct pair of name and password is remembered for this long, in ms: Argon2 for each call would cost 20 ms. */
const REMEMBER_PAIR = 60_000
/** Failures are counted over this long, in seconds. */
const FAILURE_WINDOW = 15 * 60
/** Networks and tokens that are remembered at once. */
const MOST_NEWS = 10_000

/**
 * Lets a request to the API through that carries the admin account (`Authorization: Basic`) or an API token (`Bearer`).
 * No cookie counts, and Basic from a browser's page is refused, so that no page can use what a browser remembers.
 */
export function requireAdmin({ account, tokens, audit, limits }: AuthenticationParts): Middleware {
  const failures = new RateLimiterMemory({ points: limits.ADMIN_FAILURES, duration: FAILURE_WINDOW })
  const memory = rememberPairs()
  const isNews = createNews()

  async function checkPassword(ctx: Context, given: string): Promise<void> {
    if (ctx.get('Sec-Fetch-Site') !== '') {
      throw new PlatformError(
        'ERR_BROWSER_CREDENTIALS',
        'The API takes the admin account from tools, not from pages of a browser.',
      )
    }
    if (!memory.has(given)) {
      // Counted before the check: parallel guesses cost as many.
      await count(ctx, 'admin')
      if (!(await isRight(account, given))) {
        throw refused(ctx, 'admin', 'The name or the password of the admin account is wrong.')
      }
      await failures.reward(networkOf(stateOf(ctx).client.address), 1)
      memory.add(given)
      note(ctx, 'admin', 'ok')
    }
    setActor(ctx, { name: 'admin', scopes: null })
  }

  async function checkToken(ctx: Context, given: string): Promise<void> {
    const token = await tokens.find(given)
    if (token === null) {
      // Counted after the check: nobody guesses 256 bits, and a tool goes on while its neighbours fail.
      await count(ctx, 'token')
      throw refused(ctx, 'token', 'The API token is unknown, deleted or expired.')
    }
    const name = `token:${token.id}`
    if (isNews(name)) note(ctx, name, 'ok')
    setActor(ctx, { name, scopes: token.scopes })
  }

  async function count(ctx: Context, actor: string): Promise<void> {
    const network = networkOf(stateOf(ctx).client.address)
    try {
      await failures.consume(network)
    } catch (full) {
      // Once a minute: whoever is throttled goes on asking, and each entry of the audit is kept for a year.
      if (isNews(`throttled ${network}`)) note(ctx, actor, 'throttled')
      throw throttled((full as RateLimiterRes).msBeforeNext ?? FAILURE_WINDOW * 1000)
    }
  }

  function refused(ctx: Context, actor: string, message: string): PlatformError {
    note(ctx, actor, 'refused')
    return unauthenticated(ctx, message)
  }

  /** Never with the name that was sent: people type passwords into the wrong field. */
  function note(ctx: Context, actor: string, outcome: string): void {
    const { client, correlationId } = stateOf(ctx)
    audit.note({ actor, action: 'admin-sign-in', outcome, address: client.address, correlationId })
  }

  return async (ctx, next) => {
    const header = ctx.get('Authorization')
    const pair = /^Basic ([A-Za-z0-9+/=]{1,4096})$/i.exec(header)?.[1]
    const token = /^Bearer (\S{1,4096})$/i.exec(header)?.[1]
    if (pair !== undefined) await checkPassword(ctx, pair)
    else if (token !== undefined) await checkToken(ctx, token)
    else {
      const message = 'Send the admin account (Basic) or an API token (Bearer) in the header Authorization.'
      throw unauthenticated(ctx, message)
    }
    return next()
  }
}

function throttled(forMs: number): PlatformError {
  const retryAfter = Math.ceil(forMs / 1000)
  return new PlatformError(
    'ERR_THROTTLED',
    `Too many failed sign-ins to the API from this network; try again in ${retryAfter} seconds (ADMIN_FAILURES).`,
    { retryAfter },
  )
}

async function isRight(account: AdminAccount, given: string): Promise<boolean> {
  const text = Buffer.from(given, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  // The password is checked for a wrong name too, so that both take the same time.
  const passwordIsRight = await account.checkPassword(text.slice(colon + 1))
  return passwordIsRight && colon > 0 && text.slice(0, colon) === account.name
}

/** Pairs are kept as keyed hashes, in memory. */
function rememberPairs() {
  const key = randomBytes(32)
  const known = new Map<string, number>()
  const digest = (given: string) => createHmac('sha256', key).update(given).digest('hex')
  return {
    has: (given: string) => (known.get(digest(given)) ?? 0) > Date.now(),
    add: (given: string) => {
      known.clear()
      known.set(digest(given), Date.now() + REMEMBER_PAIR)
    },
  }
}

/** Says of each thing once a minute that it is new. */
function createNews(): (thing: string) => boolean {
  const told = new Map<string, number>()
  return (thing) => {
    if ((told.get(thing) ?? 0) > Date.now()) return false
    if (told.size >= MOST_NEWS) told.clear()
    told.set(thing, Date.now() + REMEMBER_PAIR)
    return true
  }
}

function unauthenticated(ctx: Context, message: string): PlatformError {
  // Not Basic: a browser would ask for the password and then send it along with every request.
  ctx.set('WWW-Authenticate', 'Bearer realm="solhost"')
  return new PlatformError('ERR_UNAUTHENTICATED', message)
}
