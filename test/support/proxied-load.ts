import { randomUUID } from 'node:crypto'
import { WebSocket } from 'ws'
import { createExchange } from '../../host/web/client/exchange.ts'
import type { Dial } from '../../host/web/client/line.ts'
import { button, label } from './client-solution.ts'
import { formWith } from './forms.ts'
import { askProxied, PROXY_CLIENT } from './haproxy.ts'
import { ask, createVisitor, type Visitor } from './http.ts'
import type { ProxiedNodes } from './proxied-nodes.ts'
import { bundleOf, moduleFile } from './zip.ts'

const SOLUTION = 'counter'
const PAGE = `/solution/${SOLUTION}/index.html`
/** The maximum number of requests and sign-ins at the same time. If the machine can't keep up, more are skipped. */
const MOST_AT_ONCE = 300
/** The interval between two presses of a client's button, in ms. */
const PRESS_EVERY = 250

/** A problem that a user would notice. Times are in the format of `performance.now`. */
export type Failure = {
  readonly what: string
  readonly problem: string
  readonly began: number
  readonly ended: number
}

export type LoadOptions = {
  /** The number of sign-ins per second. */
  readonly logins: number
  readonly sessions: number
  /** The total number of open clients. */
  readonly clients: number
}

/** A user's open client. It runs the page's real code, but displays nothing. */
type OpenClient = {
  /** How many presses of the button got a response. */
  answered: number
  /** How many times the client was reopened. */
  reopened: number
  /** How many times the user saw that the connection was lost. */
  lost: number
  closed: string | null
  readonly stop: () => void
}

export type Load = ReturnType<typeof startLoad>

/** Uploads the solution for the load test. It accepts every user and shows a form with a counter. */
export async function addLoadSolution({ nodes, admin }: Pick<ProxiedNodes, 'nodes' | 'admin'>): Promise<void> {
  const bundle = await bundleOf(
    { name: SOLUTION, authenticator: 'AUTHENTICATOR', modules: ['auth'], firstForm: 'main' },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js':
        "function onSolutionOpen(arg, q) { security.login(q.username, q.username, ['Users']) }",
      'forms/main.json': JSON.stringify(formWith(label('count'), button('up'))),
      'forms/main.js': 'let count = 0\nfunction up() { count += 1; forms.main.elements.count.label = String(count) }',
    },
  )
  const headers = { authorization: admin, 'content-type': 'application/zip' }
  const answer = await ask(`${nodes[0]?.url}/admin/api/solutions/${SOLUTION}`, { method: 'PUT', headers, body: bundle })
  if (answer.status !== 201) throw new Error(`the upload was answered ${answer.status}: ${answer.text}`)
}

/**
 * Simulates users who sign in, return and use their clients through the proxy. They do so at a steady rate until `stop`
 * is called.
 */
export function startLoad(origin: string, { logins, sessions, clients: wanted }: LoadOptions) {
  const failures: Failure[] = []
  const people: { readonly visitor: Visitor; readonly username: string }[] = []
  const clients: OpenClient[] = []
  const running = new Set<Promise<void>>()
  let begun = 0
  let asked = 0
  let leftOut = 0

  async function step(what: string, work: () => Promise<string | null>): Promise<boolean> {
    const began = performance.now()
    const problem = await work().catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
    if (problem !== null) failures.push({ what, problem, began, ended: performance.now() })
    return problem === null
  }

  /**
   * Signs in: loads the login page, submits the form and loads the next page.
   * @throws Error if a step fails
   */
  async function signIn(): Promise<void> {
    const username = `user-${begun++}`
    const visitor = createVisitor(origin, {}, askProxied)
    const isThere = await step('login', async () => {
      const page = await visitor.get(PAGE)
      return page.status === 200 && visitor.token() !== null ? null : `page ${page.status} ${reasonOf(page.text)}`
    })
    const isIn =
      isThere &&
      (await step('login', async () => {
        const { status, text } = await visitor.post(PAGE, { username, password: 'x' })
        return status === 303 ? null : `form ${status} ${reasonOf(text)}`
      }))
    if (!isIn) return
    const person = { visitor, username }
    people.push(person)
    await step('session', () => lookUp(person))
    if (clients.length < wanted) clients.push(openClient(origin, visitor))
  }

  async function lookUp({ visitor, username }: (typeof people)[number]): Promise<string | null> {
    const { status, text } = await visitor.get(`/solution/${SOLUTION}/session`)
    if (status === 401) return 'not signed in any more'
    return status === 200 && text.includes(`"username":"${username}"`) ? null : `session ${status} ${reasonOf(text)}`
  }

  async function comeBack(): Promise<void> {
    const person = people[asked++ % Math.max(1, people.length)]
    if (person !== undefined) await step('session', () => lookUp(person))
  }

  function begin(work: () => Promise<void>): void {
    if (running.size >= MOST_AT_ONCE) {
      leftOut += 1
      return
    }
    const run = work().finally(() => running.delete(run))
    running.add(run)
  }

  const timers = [setInterval(() => begin(signIn), 1000 / logins), setInterval(() => begin(comeBack), 1000 / sessions)]

  return {
    failures: failures as readonly Failure[],
    clients: clients as readonly OpenClient[],
    running: () => running.size,
    signedIn: () => people.length,
    /** How many sign-ins and requests were skipped (see `MOST_AT_ONCE`). */
    leftOut: () => leftOut,
    /** How many sign-ins have been started. */
    begun: () => begun,
    /**
     * Stops the load, waits for pending requests, and checks each session again.
     * @returns the users who are no longer signed in, with the reasons
     */
    async stop(): Promise<readonly string[]> {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running)
      for (const client of clients) client.stop()
      const lost: string[] = []
      for (const person of people) {
        const problem = await lookUp(person).catch((error: Error) => error.message)
        if (problem !== null) lost.push(`${person.username}: ${problem}`)
      }
      return lost
    },
  }
}

/** Returns the reason from an error response: the host's error code, or the proxy's text. */
function reasonOf(text: string): string {
  return (
    /ERR_[A-Z_]+|sandbox_busy/.exec(text)?.[0] ??
    text
      .replace(/<style[\s\S]*?<\/style>|<[^>]*>|\s+/g, ' ')
      .trim()
      .slice(0, 60)
  )
}

function openClient(origin: string, visitor: Visitor): OpenClient {
  let kept: string | null = null
  let isThere = false
  let isWaiting = false
  const client = { answered: 0, reopened: 0, lost: 0, closed: null as string | null, stop }
  const exchange = createExchange({
    dial: dialProxied(origin, visitor),
    page: randomUUID(),
    kept: {
      get id() {
        return kept
      },
      isReload: true,
      keep(id) {
        kept = id
      },
      forget() {
        kept = null
      },
    },
    size: () => ({ width: 1000, height: 800 }),
    random: Math.random,
    received(frame) {
      if (frame.kind === 'form') isThere = true
      if (frame.kind === 'reopened') {
        isThere = false
        client.reopened += 1
      }
      if (frame.kind === 'patch') client.answered += 1
      if (frame.kind === 'closed') client.closed = frame.why
    },
    changed(state) {
      if (!state.isOnline && isThere) client.lost += 1
      if (!state.isOnline) isThere = false
      isWaiting = state.isWaiting
    },
  })
  const pressing = setInterval(() => {
    if (!isThere || isWaiting) return
    exchange.send({ kind: 'event', form: 'main', element: 'up', type: 'onAction', value: null })
  }, PRESS_EVERY)

  function stop(): void {
    clearInterval(pressing)
    exchange.end()
  }

  return client
}

/** Connects a WebSocket through the proxy like `dialSocket` in the page's code, and sends the browser's cookies. */
function dialProxied(origin: string, { cookies }: Visitor): Dial {
  return (listener) => {
    const path = `/solution/${SOLUTION}/client`
    const cookie = [...cookies]
      .filter(([, { path: scope }]) => path.startsWith(scope))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ')
    const headers = { origin, cookie }
    const socket = new WebSocket(`${origin.replace(/^http/, 'ws')}${path}`, { headers, ...PROXY_CLIENT })
    let isOver = false
    // Store cookies from this response too: the proxy adds one with the node's name.
    socket.on('upgrade', ({ headers: answered }) => {
      for (const line of answered['set-cookie'] ?? []) {
        const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
        cookies.set(name, { value, path: '/' })
      }
    })
    socket.on('open', () => !isOver && listener.opened())
    socket.on('message', (data) => !isOver && listener.received(String(data)))
    socket.on('error', () => {})
    socket.on('close', (code) => {
      if (isOver) return
      isOver = true
      listener.lost(code === 1001)
    })
    return {
      send: (text) => socket.send(text),
      close() {
        isOver = true
        socket.close()
      },
    }
  }
}
