import type { AddressInfo } from 'node:net'
import Router from '@koa/router'
import Koa, { type Context, type Next } from 'koa'
import type { WebSocket } from 'ws'
import { createWebSocketServer, takeWebSocket } from '../../base/http/upgrades.ts'
import { listening } from '../../base/tls/listen.ts'
import { httpServer } from '../../base/tls/server.ts'
import type { DebugSession, Supervisor } from '../../runtime/supervisor.ts'
import type { DebugTarget, DebugTargets } from './targets.ts'

/** Where Chrome DevTools find the scripts of this host: HTTP and WebSockets as Node's own inspector answers them. */
export interface Debugger {
  /** Such as `127.0.0.1:9229`. */
  readonly address: string
  /** The addresses to open in Chrome, by target. */
  links(): Promise<readonly (DebugTarget & { readonly link: string })[]>
  /** Ends all sessions. */
  stop(): Promise<void>
}

export type DebuggerParts = {
  readonly targets: DebugTargets
  readonly attach: NonNullable<Supervisor['debug']>
  /** Of the Node.js that the scripts run in. */
  readonly nodeVersion: string
}

/** Whoever gets here may run any code in the sandbox processes, so nobody does from another machine. */
const ADDRESS = '127.0.0.1'
/** Of a browser that was led here under another name (DNS rebinding) the header has that name. */
const OWN_NAMES = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i
/** A message of a debugger, in bytes: a changed script may be in it. */
const LONGEST_MESSAGE = 8 * 1024 ** 2
/** What a debugger may leave unread, in bytes, before its session ends. */
const MOST_UNREAD = 128 * 1024 ** 2
/** Debuggers at once. */
const MOST_SESSIONS = 16

/** Starts to listen. @param port 0: a free one. @throws EADDRINUSE and the like */
export async function startDebugger(parts: DebuggerParts, port: number): Promise<Debugger> {
  const { targets, attach, nodeVersion } = parts
  const sockets = createWebSocketServer(LONGEST_MESSAGE)
  /** Sessions that are being opened. */
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
    if (sockets.clients.size + opening >= MOST_SESSIONS) return refuse(ctx, 503, 'too many debuggers are attached')
    const relay = createRelay()
    opening++
    try {
      const session = await attach(found.solution.loadable, found.target.unit, relay.listener)
      if (session === null) return refuse(ctx, 503, 'no sandbox process could be started')
      const isTaken = takeWebSocket(ctx, sockets, (socket) => relay.join(socket, session))
      // The library answers a handshake that is no good by itself, and a browser may have left.
      if (!isTaken || !relay.isConnected()) session.close()
      if (!isTaken) refuse(ctx, 426, 'only WebSockets are taken here')
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

/** Web pages have an origin, and reach this machine by a name of their own; DevTools have theirs, and programs none. */
async function refuseOthers(ctx: Context, next: Next): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  ctx.set('X-Content-Type-Options', 'nosniff')
  const { host = '', origin } = ctx.headers
  if (!OWN_NAMES.test(host)) return refuse(ctx, 403, 'only loopback addresses and localhost are names of this host')
  if (origin !== undefined && !origin.startsWith('devtools://')) return refuse(ctx, 403, 'web pages may not debug')
  await next()
}

function refuse(ctx: Context, status: number, why: string): void {
  ctx.status = status
  ctx.body = `${why}\n`
}

/** As Chrome reads it. */
function described(target: DebugTarget, address: string) {
  const { id, solution, version, unit } = target
  const ws = `${address}/${id}`
  return {
    id,
    type: 'node',
    title: `${solution} ${version}: ${TITLES[unit]}`,
    description: 'scripts of a solution',
    url: `solhost://${solution}/${unit}`,
    devtoolsFrontendUrl: `devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=${ws}`,
    webSocketDebuggerUrl: `ws://${ws}`,
  }
}

const TITLES = {
  authenticator: 'signing in (authenticator)',
  main: 'clients (forms)',
  configuration: 'getOAuthConfig',
} as const

/** Carries messages between one debugger and its session. */
function createRelay() {
  let socket: WebSocket | null = null
  let isOver = false

  /** 1001: what was debugged goes away, such as a version that another one takes the place of. */
  function end(): void {
    isOver = true
    socket?.close(1001, 'the scripts are gone')
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
