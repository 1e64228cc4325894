import { createHmac, randomBytes } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { stateOf } from '../http/request.ts'
import type { AdminAccount } from './account.ts'
import { setActor } from './actor.ts'

/** A correct pair of name and password is remembered for this long, in ms: Argon2 for each call would cost 20 ms. */
const REMEMBER_PAIR = 60_000
/** Failures are counted over this long, in seconds. */
const FAILURE_WINDOW = 15 * 60

/**
 * Lets a request to the API through that carries the admin account in `Authorization: Basic`. No cookie counts, and
 * Basic from a browser's page is refused, so that no page can use what a browser remembers.
 */
export function requireAdmin(account: AdminAccount, limits: Limits): Middleware {
  const failures = new RateLimiterMemory({ points: limits.ADMIN_FAILURES, duration: FAILURE_WINDOW })
  const memory = rememberPairs()

  return async (ctx, next) => {
    const given = /^Basic ([A-Za-z0-9+/=]{1,4096})$/i.exec(ctx.get('Authorization'))?.[1]
    if (given === undefined) {
      throw unauthenticated(ctx, 'Send the admin account in the header Authorization (Basic).')
    }
    if (ctx.get('Sec-Fetch-Site') !== '') {
      throw new PlatformError(
        'ERR_BROWSER_CREDENTIALS',
        'The API takes the admin account from tools, not from pages of a browser.',
      )
    }
    setActor(ctx, { name: 'admin', scopes: null })
    if (memory.has(given)) return next()
    const network = networkOf(stateOf(ctx).client.address)
    // Counted before the check: parallel guesses cost as many.
    await count(failures, network)
    if (!(await isRight(account, given))) {
      throw unauthenticated(ctx, 'The name or the password of the admin account is wrong.')
    }
    await failures.reward(network, 1)
    memory.add(given)
    return next()
  }
}

async function count(failures: RateLimiterMemory, network: string): Promise<void> {
  try {
    await failures.consume(network)
  } catch (refused) {
    const retryAfter = Math.ceil(((refused as RateLimiterRes).msBeforeNext ?? FAILURE_WINDOW * 1000) / 1000)
    throw new PlatformError(
      'ERR_THROTTLED',
      `Too many failed sign-ins to the admin account from this network; try again in ${retryAfter} seconds (ADMIN_FAILURES).`,
      {
        retryAfter,
      },
    )
  }
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

function unauthenticated(ctx: Context, message: string): PlatformError {
  // Not Basic: a browser would ask for the password and then send it along with every request.
  ctx.set('WWW-Authenticate', 'Bearer realm="solhost"')
  return new PlatformError('ERR_UNAUTHENTICATED', message)
}

/** An IPv4 address, or the /64 of an IPv6 address, which is what one customer gets. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:/i, '')
  if (!plain.includes(':')) return plain
  const [head = '', tail = ''] = plain.split('%', 1)[0]?.split('::') ?? []
  const before = head.split(':').filter((group) => group !== '')
  const after = tail.split(':').filter((group) => group !== '')
  const zeros = plain.includes('::') ? Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0') : []
  const groups = [...before, ...zeros, ...after].map((group) => group.replace(/^0+(?=.)/, ''))
  return `${groups.slice(0, 4).join(':')}::/64`
}
