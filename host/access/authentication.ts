import { createHmac, randomBytes } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import { createNews } from '../../base/work/news.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { isAuthenticated, setActor } from './actor.ts'
import type { AdminSecondStep } from './admin-second-step.ts'
import type { ApiToken, ApiTokens } from './api-tokens.ts'
import type { AdminCredentials } from './credentials.ts'

export type AuthenticationParts = {
  readonly credentials: AdminCredentials
  readonly tokens: ApiTokens
  readonly adminSecondStep: Pick<AdminSecondStep, 'isNeeded'>
}

/** How long a correct name and password are cached, in ms. Without the cache, Argon2 would take 20 ms per request. */
const REMEMBER_PAIR = 60_000

/**
 * Authenticates API requests by the admin account (`Authorization: Basic`), an API token (`Bearer`), or an admin page
 * session (see `admitPageSession`). The Basic scheme is rejected if a browser page sent the request. Otherwise, any
 * page could use credentials that the browser has cached.
 */
export function requireAdmin({ credentials, tokens, adminSecondStep: secondStep }: AuthenticationParts): Middleware {
  const memory = rememberPairs()
  const isNews = createNews()

  async function checkPassword(ctx: Context, given: string): Promise<void> {
    if (ctx.get('Sec-Fetch-Site') !== '') {
      throw new PlatformError(
        'ERR_BROWSER_CREDENTIALS',
        'The API does not accept the admin password from a browser. Use a tool such as curl, or an API token.',
      )
    }
    if (!memory.has(given)) {
      const [name, password] = pairOf(given)
      if (!(await credentials.areRight(ctx, name, password))) {
        throw unauthenticated(ctx, 'The name or password of the admin account is wrong.')
      }
      memory.add(given)
    }
    if (await secondStep.isNeeded()) {
      throw new PlatformError(
        'ERR_SECOND_FACTOR_NEEDED',
        'The admin account has a second factor, so the API does not accept its password. Use an API token instead.',
      )
    }
    // The admin account can't change until the host restarts, so its credentials stay valid.
    setActor(ctx, { name: 'admin', scopes: null, isConfirmed: true, isStillIn: async () => true })
  }

  async function checkToken(ctx: Context, given: string): Promise<void> {
    const token = await findToken(ctx, given, { credentials, tokens })
    if (token === null) throw unauthenticated(ctx, 'The API token is unknown, revoked or expired. Use another token.')
    const name = `token:${token.id}`
    if (isNews(name)) credentials.note(ctx, name, 'ok')
    const isStillIn = async () => (await tokens.find(given)) !== null
    setActor(ctx, { name, scopes: token.scopes, isConfirmed: true, isStillIn })
  }

  return async (ctx, next) => {
    const header = ctx.get('Authorization')
    const pair = /^Basic ([A-Za-z0-9+/=]{1,4096})$/i.exec(header)?.[1]
    const token = /^Bearer (\S{1,4096})$/i.exec(header)?.[1]
    if (pair !== undefined) await checkPassword(ctx, pair)
    else if (token !== undefined) await checkToken(ctx, token)
    else if (header !== '' || !isAuthenticated(ctx)) {
      const message =
        'The request has no valid Authorization header. Send the name and password of the admin account (Basic) or an API token (Bearer).'
      throw unauthenticated(ctx, message)
    }
    return next()
  }
}

/**
 * Finds the token that a request contains. Only failures are throttled: a token has 256 random bits, so it can't be
 * guessed. A tool with a valid token keeps working even while others in its network fail.
 * @throws ERR_THROTTLED
 */
export async function findToken(
  ctx: Context,
  given: string,
  { credentials, tokens }: Pick<AuthenticationParts, 'credentials'> & { readonly tokens: Pick<ApiTokens, 'find'> },
): Promise<ApiToken | null> {
  const token = await tokens.find(given)
  if (token !== null) return token
  await credentials.countFailure(ctx, 'token')
  credentials.note(ctx, 'token', 'refused')
  return null
}

function pairOf(given: string): readonly [name: string, password: string] {
  const text = Buffer.from(given, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return [text.slice(0, Math.max(0, colon)), text.slice(colon + 1)]
}

/** Caches pairs of name and password in memory, as keyed hashes. */
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
  // Don't offer the Basic scheme: it makes browsers prompt for the password and send it with every later request.
  ctx.set('WWW-Authenticate', 'Bearer realm="solhost"')
  return new PlatformError('ERR_UNAUTHENTICATED', message)
}
