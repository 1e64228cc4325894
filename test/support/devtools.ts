import { WebSocket } from 'ws'

type Params = Readonly<Record<string, unknown>>
type Told = { readonly method: string; readonly params: Params }

/** A minimal client for the Chrome DevTools Protocol. */
export interface DevTools {
  /**
   * Sends a command to the debugger.
   * @returns the response's result
   * @throws if the debugger responds with an error
   */
  ask(method: string, params?: Params): Promise<Params>
  /** Returns the next unread event with this name, or waits for it. */
  event(method: string): Promise<Params>
  /** Lists the names of the events that the test has not read yet. */
  readonly untold: () => readonly string[]
  /** Resolves with the close code when the connection is closed. */
  readonly closed: Promise<number>
  close(): void
}

/**
 * Connects to a debugger.
 * @throws Error with the response status if the handshake is rejected
 */
export async function openDevTools(url: string, headers: Record<string, string> = {}): Promise<DevTools> {
  const socket = new WebSocket(url, { headers, perMessageDeflate: false })
  const answers = new Map<number, (answer: Params) => void>()
  const events: Told[] = []
  let wanted: { readonly method: string; readonly take: (params: Params) => void }[] = []
  let lastId = 0
  const closed = new Promise<number>((resolve) => {
    socket.on('close', resolve)
  })

  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as { id?: number } & Told
    if (message.id !== undefined) answers.get(message.id)?.(message as unknown as Params)
    else events.push(message)
    tell()
  })

  function tell(): void {
    wanted = wanted.filter(({ method, take }) => {
      const index = events.findIndex((event) => event.method === method)
      if (index < 0) return true
      take((events.splice(index, 1)[0] as Told).params)
      return false
    })
  }

  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve)
    socket.on('unexpected-response', (_request, { statusCode }) => {
      socket.terminate()
      reject(new Error(`refused with ${statusCode}`))
    })
    socket.on('error', reject)
  })
  return {
    async ask(method, params = {}) {
      const id = ++lastId
      const { promise, resolve } = Promise.withResolvers<Params>()
      answers.set(id, resolve)
      socket.send(JSON.stringify({ id, method, params }))
      const { result, error } = (await promise) as { result?: Params; error?: { message: string } }
      if (error !== undefined) throw new Error(error.message)
      return result ?? {}
    },
    event(method) {
      const { promise, resolve } = Promise.withResolvers<Params>()
      wanted.push({ method, take: resolve })
      tell()
      return promise
    },
    untold: () => events.map(({ method }) => method),
    closed,
    close: () => socket.close(),
  }
}
