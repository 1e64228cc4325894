import type { Context } from 'koa'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { readCookies } from '../../base/http/cookies.ts'
import { sourceOfPost } from '../../base/http/fetch-metadata.ts'
import { readQuery } from '../../base/http/read-body.ts'
import { cookieScope, stateOf } from '../../base/http/request.ts'
import { asksForWebSocket, takeWebSocket } from '../../base/http/upgrades.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { requestedPage } from '../login/requested-page.ts'
import type { Client } from './client.ts'
import { accountOf, type ClientPageParts } from './client-page.ts'
import type { Clients } from './clients.ts'
import { type Connection, createConnection } from './connection.ts'
import type { Visitor } from './visitor.ts'

export type ClientRouteParts = Omit<ClientPageParts, 'store'> & {
  readonly clients: Clients
  readonly sessions: Sessions
  readonly remembered: Remembered
}

/** The WebSocket close code that means that the page's session has ended. */
const SIGNED_OUT = 4401
/** A WebSocket close code (RFC 6455, section 7.4.1). The page reconnects after it. */
const INTERNAL_ERROR = 1011

/**
 * Handles the WebSocket of an open client. Only requests from other origins are refused during the handshake. Users who
 * are not signed in get a close code instead, because the page's script can't read the status of a refused handshake.
 * @param mode `isOpenToAll`: whether the client works without a session, because of mode NONE or a login form
 */
export function connectClient(
  ctx: Context,
  solution: ActiveSolution,
  found: FoundSession | null,
  locale: string,
  mode: { readonly isOpenToAll: boolean; readonly isLoginForm: boolean },
  parts: ClientRouteParts,
): void {
  if (!asksForWebSocket(ctx.req)) throw noWebSocket(ctx)
  const visitor = visitorOf(ctx, solution, found, locale, mode.isLoginForm && found === null, parts)
  if (sourceOfPost(ctx, visitor.serverUrl) !== 'same-origin') {
    throw new PlatformError('ERR_FOREIGN_ORIGIN', 'Only the solution’s own pages can open this WebSocket connection.')
  }
  const isTaken = takeWebSocket(ctx, parts.clients.sockets, (socket) => {
    let client: Client | null = null
    let isGreeted = false
    let isClosed = false
    const connection: Connection = createConnection(socket, {
      frame(frame) {
        if (client !== null) return client.receive(connection, frame)
        if (isGreeted || frame.kind !== 'hello') return connection.refuse()
        isGreeted = true
        parts.clients.arrive(connection, frame, visitor).then(
          (arrived) => {
            client = arrived
            // The browser disconnected while the server was looking for its client.
            if (isClosed) client?.detach(connection)
          },
          (error: unknown) => {
            parts.clients.noteFault(error, visitor)
            connection.close(INTERNAL_ERROR)
          },
        )
      },
      sent: parts.clients.noteSent,
      closed(refused) {
        isClosed = true
        client?.detach(connection)
        if (refused > 0) parts.clients.noteRefused(visitor, refused)
      },
    })
    if (found === null && !mode.isOpenToAll) connection.close(SIGNED_OUT, { kind: 'closed', why: 'signed-out' })
  })
  if (!isTaken) throw noWebSocket(ctx)
}

function noWebSocket(ctx: Context): PlatformError {
  // HTTP/2 has no Upgrade header (RFC 9113, 8.2.2), so browsers open an HTTP/1.1 connection for WebSockets.
  if (ctx.req.httpVersionMajor === 1) ctx.set('Upgrade', 'websocket')
  return new PlatformError('ERR_UPGRADE_REQUIRED', 'This URL accepts only WebSocket connections.')
}

function visitorOf(
  ctx: Context,
  solution: ActiveSolution,
  found: FoundSession | null,
  locale: string,
  isLoginForm: boolean,
  { sites, formTokens, sessions, remembered }: ClientRouteParts,
): Visitor {
  const { client } = stateOf(ctx)
  const { name } = solution
  const scope = cookieScope(ctx, sites, name)
  const rememberCookies = readCookies(ctx, 'remember', scope)
  const query = requestedPage(ctx).slice(ctx.path.length)
  return {
    solution,
    isLoginForm,
    found,
    address: client.address,
    client,
    serverUrl: sites.originOf(name, client),
    locale,
    languages: ctx.get('Accept-Language'),
    url: readQuery(ctx),
    page: `/solution/${name}/index.html${query}`,
    browser: formTokens.browserOf(ctx, scope),
    account: accountOf(ctx, solution, found, { sites, formTokens }),
    async forget() {
      if (found !== null) await sessions.end(name, found.cookie)
      for (const cookie of rememberCookies) await remembered.end(name, cookie)
    },
  }
}
