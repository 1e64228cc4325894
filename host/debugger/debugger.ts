import type { AddressInfo } from 'node:net'
import Router from '@koa/router'
import Koa, { type Context, type Next } from 'koa'
import type { WebSocket } from 'ws'
import { createWebSocketServer, takeWebSocket } from '../../base/http/upgrades.ts'
import { listening } from '../../base/tls/listen.ts'
import { httpServer } from '../../base/tls/server.ts'
import type { DebugSession, Supervisor } from '../../runtime/supervisor.ts'
import type { DebugTarget, DebugTargets } from './targets.ts'

/** Connects Chrome DevTools to this host's scripts. It uses the HTTP and WebSocket protocol of Node's inspector. */
export interface Debugger {
  /** The debugger's address, for example `127.0.0.1:9229`. */
  readonly address: string
  /** The debug targets with the links to open in Chrome. */
  links(): Promise<readonly (DebugTarget & { readonly link: string })[]>
  /** Ends all debugger sessions. */
  stop(): Promise<void>
}

export type DebuggerParts = {
  readonly targets: DebugTargets
  readonly attach: NonNullable<Supervisor['debug']>
  /** The version of Node.js that runs the scripts. */
  readonly nodeVersion: string
}

/** Loopback only: anyone who can connect can run arbitrary code in the sandbox processes. */
const ADDRESS = '127.0.0.1'
/** Allowed `Host` headers. A page that uses DNS rebinding sends its own host name, which is not listed. */
const OWN_NAMES = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i
/** Maximum size of a debugger message in bytes. A message may contain a whole changed script. */
const LONGEST_MESSAGE = 8 * 1024 ** 2
/** Maximum data in bytes that a debugger may leave unread. Above this, the session is closed. */
const MOST_UNREAD = 128 * 1024 ** 2
/** Maximum number of concurrent debuggers. */
const MOST_SESSIONS = 16

/**
 * Starts listening.
 * @param port 0 for any free port
 * @throws EADDRINUSE and similar errors
 */
export async function startDebugger(parts: DebuggerParts, port: number): Promise<Debugger> {
  const { targets, attach, nodeVersion } = parts
  const sockets = createWebSocketServer(LONGEST_MESSAGE)
  let opening = 0
  const app = new Koa()
  app.silent = true
  const router = new Router()
  router.get(['/json', '/json/list'], async (ctx: Context) => {
    ctx.body = (await targets.list()).map((target) => described(target, address()))
  })
  router.get('/json/version', (ctx: Context) => {
    ctx.body = { Browser: `node.js/v${nodeVersion}`, 'Protocol-Version': '1.3' }
  })
  router.get('/:id', debug)
  app.use(refuseOthers)
  app.use(router.routes())

  async function debug(ctx: Context): Promise<void> {
    const found = await targets.find((ctx.params as { id: string }).id)
    if (found === null) return
    if (sockets.clients.size + opening >= MOST_SESSIONS)
      return refuse(ctx, 503, 'too many debuggers are attached; detach one, then try again')
    const relay = createRelay()
    opening++
    try {
      const session = await attach(found.solution.loadable, found.target.unit, relay.listener)
      if (session === null)
        return refuse(ctx, 503, 'no sandbox process is available for this solution; try again later')
      const isTaken = takeWebSocket(ctx, sockets, (socket) => relay.join(socket, session))
      // The handshake may have been invalid, which the library reports to the client. The client may also have
      // disconnected.
      if (!isTaken || !relay.isConnected()) session.close()
      if (!isTaken) refuse(ctx, 426, 'this URL accepts only WebSocket connections')
    } finally {
      opening--
    }
  }

  const server = await listening(httpServer(app), port, ADDRESS)

  function address(): string {
    return `${ADDRESS}:${(server.address() as AddressInfo).port}`
  }

  return {
    address: address(),
    links: async () =>
      (await targets.list()).map((target) => ({ ...target, link: described(target, address()).devtoolsFrontendUrl })),
    async stop() {
      for (const socket of sockets.clients) socket.terminate()
      await new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
    },
  }
}

/**
 * Rejects requests from web pages. Pages send their own `Origin`, or their own host name if they use DNS rebinding.
 * DevTools sends a `devtools:` origin; other programs send none.
 */
async function refuseOthers(ctx: Context, next: Next): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  ctx.set('X-Content-Type-Options', 'nosniff')
  const { host = '', origin } = ctx.headers
  if (!OWN_NAMES.test(host))
    return refuse(ctx, 403, 'the host name in the URL is not allowed; use localhost or a loopback address')
  if (origin !== undefined && !origin.startsWith('devtools://'))
    return refuse(ctx, 403, 'web pages cannot attach a debugger; use Chrome DevTools or an editor')
  await next()
}

function refuse(ctx: Context, status: number, why: string): void {
  ctx.status = status
  ctx.body = `${why}\n`
}

/** The target in the format that Chrome expects. */
function described(target: DebugTarget, address: string) {
  const { id, solution, version, unit } = target
  const ws = `${address}/${id}`
  return {
    id,
    type: 'node',
    title: `${solution} ${version}: ${TITLES[unit]}`,
    description: 'a solution’s scripts',
    url: `solhost://${solution}/${unit}`,
    devtoolsFrontendUrl: `devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=${ws}`,
    webSocketDebuggerUrl: `ws://${ws}`,
  }
}

const TITLES = {
  authenticator: 'sign-in (authenticator)',
  main: 'clients (forms)',
  configuration: 'getOAuthConfig',
} as const

/** Relays messages between a debugger and its session. */
function createRelay() {
  let socket: WebSocket | null = null
  let isOver = false

  /**
   * Status 1001 means "going away". The debugged scripts no longer exist, for example because a new version replaced
   * them.
   */
  function end(): void {
    isOver = true
    socket?.close(1001, 'the scripts are no longer loaded')
  }

  function join(connected: WebSocket, session: DebugSession): void {
    socket = connected
    connected.on('error', () => connected.terminate())
    connected.on('close', () => session.close())
    connected.on('message', (data, isBinary) => {
      if (isBinary) connected.close(1003)
      else session.send(String(data))
    })
    if (isOver) end()
  }

  return {
    isConnected: () => socket !== null,
    join,
    listener: {
      message(text: string): void {
        socket?.send(text)
        if (socket !== null && socket.bufferedAmount > MOST_UNREAD) socket.terminate()
      },
      ended: end,
    },
  }
}
