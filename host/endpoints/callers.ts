import type { Context } from 'koa'
import { findSession } from '../../base/accounts/find-session.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Endpoint } from '../../base/bundles/endpoint-table.ts'
import type { HostCall } from '../../base/bundles/host-call.ts'
import { insertOnce } from '../../base/database/portable.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import { cookieScope, stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { createNews } from '../../base/work/news.ts'
import type { Authentication } from '../../runtime/bundle/endpoint-schema.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { ApiToken, ApiTokens } from '../access/api-tokens.ts'
import { createBriefCache } from '../database/brief-cache.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import type { Secrets } from '../secrets/secrets.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import { needOwnOrigin } from './own-origin.ts'
import type { RawBody } from './read-request.ts'
import { hasSignature, readSignature, TOLERANCE, verifySignature } from './signatures.ts'

/** The caller of an endpoint: a user's session, an API token, the sender of a signed webhook, or anyone. */
export type Caller = Pick<HostCall, 'user' | 'account' | 'methods'> & { readonly way: Authentication }

export type CallerParts = {
  readonly db: HostDatabase
  readonly sites: Sites
  readonly sessions: Pick<Sessions, 'find'>
  readonly tokens: Pick<ApiTokens, 'find'>
  readonly secrets: Pick<Secrets, 'forHostItself'>
  readonly maintenance: Pick<Maintenance, 'refuseNewWork'>
  readonly solutionLog: Pick<SolutionLog, 'write'>
  /** Epoch ms. */
  readonly now: () => number
}

const NOBODY = { user: null, account: null } as const

/**
 * Identifies the caller of an endpoint.
 * @param readBody reads the body, which a signature covers
 * @throws ERR_UNAUTHENTICATED, ERR_FOREIGN_ORIGIN, ERR_SECRET_MISSING, ERR_MAINTENANCE, and the errors of `readBody`
 */
export type FindCaller = (
  ctx: Context,
  solution: ActiveSolution,
  endpoint: Endpoint,
  readBody: () => Promise<RawBody>,
) => Promise<Caller>

export function createCallers(parts: CallerParts): FindCaller {
  const { db, sites, sessions, secrets, maintenance, solutionLog, now } = parts
  const isNews = createNews()
  /** Cached for at most 1 s, so a deleted token stops working on all hosts within that time. */
  const tokens = createBriefCache<ApiToken | null>((token) => parts.tokens.find(token), now)
  const secretValues = createBriefCache<string | null>((key) => {
    const [solution = '', name = ''] = key.split(' ')
    return secrets.forHostItself(solution, name)
  }, now)

  async function bySession(ctx: Context, { name }: ActiveSolution): Promise<Caller | null> {
    const found = await findSession(ctx, cookieScope(ctx, sites, name), sessions)
    if (found === null) return null
    needOwnOrigin(ctx, sites.originOf(name, stateOf(ctx).client))
    const { username, uid, permissions, tenant, source, methods } = found.session
    return { way: 'session', user: { username, uid, permissions, tenant }, account: { source, uid }, methods }
  }

  async function byToken(ctx: Context, { name }: ActiveSolution): Promise<Caller | null> {
    const given = /^Bearer (\S{1,200})$/i.exec(ctx.get('Authorization'))?.[1]
    const token = given === undefined ? null : await tokens.get(given)
    if (token === null || !token.scopes.includes(`solutions:${name}:call`)) return null
    if (token.expiresAt !== null && token.expiresAt <= now()) return null
    const { id, permissions, tenant } = token
    const called = `token:${id}`
    return { way: 'token', user: { username: called, uid: called, permissions, tenant }, account: null }
  }

  async function bySignature(
    ctx: Context,
    { name }: ActiveSolution,
    { address, declaration: { signature } }: Endpoint,
    readBody: () => Promise<RawBody>,
  ): Promise<Caller | null> {
    if (signature === null || signature === undefined) return null
    const { scheme, secret: secretName } = signature
    const read = readSignature(scheme, ctx.req.headers, now())
    if (read === null) return null
    const secret = await secretValues.get(`${name} ${secretName}`)
    if (secret === null) throw secretMissing(ctx, name, address, secretName)
    const body = await readBody()
    const mac = verifySignature(scheme, read, secret, body?.bytes ?? new Uint8Array())
    if (mac === null) return null
    if (read.time !== null && !(await isFirst(`${name} ${address} ${mac}`, read.time))) return null
    return { way: 'signature', ...NOBODY }
  }

  /**
   * Returns whether this is the first use of the signature on any host. The signature is stored until it is too old to
   * be accepted.
   */
  function isFirst(signed: string, time: number): Promise<boolean> {
    const expires_at = time + 2 * TOLERANCE
    return insertOnce(db, 'used_tokens', { id: storedHash(`endpoint ${signed}`), expires_at })
  }

  function secretMissing(ctx: Context, solution: string, address: string, secret: string): PlatformError {
    if (isNews(`${solution} ${secret}`)) {
      solutionLog.write(solution, {
        level: 'error',
        message: `"${address}" requires the secret ${secret}: the operator must set it with an empty list of hosts`,
        correlationId: stateOf(ctx).correlationId,
      })
    }
    return new PlatformError(
      'ERR_SECRET_MISSING',
      `The endpoint requires the secret ${secret} of "${solution}". The operator must set it with an empty list of hosts.`,
    )
  }

  return async (ctx, solution, endpoint, readBody) => {
    const ways = endpoint.declaration.authentication
    const hasAuthorization = ctx.get('Authorization') !== ''
    if (ways.includes('session') && !hasAuthorization) {
      const caller = await bySession(ctx, solution)
      if (caller !== null) return caller
    }
    await maintenance.refuseNewWork()
    if (ways.includes('none')) return { way: 'none', ...NOBODY }
    const caller = await byOtherWay()
    if (caller !== null) return caller
    if (ways.includes('token')) ctx.set('WWW-Authenticate', 'Bearer realm="solhost"')
    throw new PlatformError('ERR_UNAUTHENTICATED', `This endpoint requires a valid ${ways.join(' or ')}.`)

    function byOtherWay(): Promise<Caller | null> {
      if (ways.includes('token') && hasAuthorization) return byToken(ctx, solution)
      const { signature } = endpoint.declaration
      const isSigned = signature && hasSignature(signature.scheme, ctx.req.headers)
      return isSigned ? bySignature(ctx, solution, endpoint, readBody) : Promise.resolve(null)
    }
  }
}
