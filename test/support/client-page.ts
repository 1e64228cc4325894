import { randomUUID } from 'node:crypto'
import { type DefaultTreeAdapterMap, parseFragment } from 'parse5'
import { WebSocket } from 'ws'
import type { HostFrame } from '../../host/web/frames.ts'
import type { Visitor } from './http.ts'
import { PATIENCE } from './patience.ts'

type Node = DefaultTreeAdapterMap['node']
type Element = DefaultTreeAdapterMap['element']
type HasCookies = Pick<Visitor, 'cookies'> & Partial<Pick<Visitor, 'headers'>>
type Frame<Kind extends HostFrame['kind']> = Extract<HostFrame, { kind: Kind }>

export type ClientPageOptions = {
  /** The query string of the page's URL, such as `?argument=5`. */
  readonly query?: string
  /** The client id that the tab stored in an earlier page load. */
  readonly client?: string | null
  /** The id of the page load. Set it to reconnect as the same page load. */
  readonly page?: string
  /** The sequence number of the last event that was sent before reconnecting. */
  readonly seq?: number
  readonly headers?: Record<string, string>
  /** If `false`, pings get no response: the connection looks open, but is dead. */
  readonly answersPings?: boolean
  /** The path to connect to, in place of the solution's own. */
  readonly path?: string
  /** The certificate authority to trust, in PEM format, for a host with TLS. */
  readonly ca?: Buffer
}

/** Simulates the page's side of a client connection, without a browser. Applies the received frames like a page. */
export async function openClientPage(
  base: string,
  solution: string,
  visitor: HasCookies,
  options: ClientPageOptions = {},
) {
  const path = options.path ?? `/solution/${solution}/client${options.query ?? ''}`
  const cookie = [...visitor.cookies]
    .filter(([, { path: scope }]) => path.startsWith(scope))
    .map(([name, { value }]) => `${name}=${value}`)
    .join('; ')
  const socket = new WebSocket(`${base.replace(/^http/, 'ws')}${path}`, {
    headers: { origin: base, ...visitor.headers, ...(cookie === '' ? {} : { cookie }), ...options.headers },
    autoPong: options.answersPings ?? true,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  })
  const page = options.page ?? randomUUID()
  const frames: HostFrame[] = []
  const waiting = new Set<() => void>()
  const elements = new Map<string, string>()
  let html = ''
  let seq = options.seq ?? 0
  let closed: number | null = null

  function take(frame: HostFrame): void {
    frames.push(frame)
    if (frame.kind === 'form') {
      html = frame.html
      elements.clear()
    }
    if (frame.kind === 'patch') for (const change of frame.changes) elements.set(change.id, change.html)
  }
  const wake = () => {
    for (const one of waiting) one()
  }
  socket.on('message', (data) => {
    take(JSON.parse(data.toString()) as HostFrame)
    wake()
  })
  socket.on('close', (code) => {
    closed = code
    wake()
  })

  /**
   * Waits until `found` returns a value.
   * @returns this value
   * @throws Error after `PATIENCE`; the message contains all received frames
   */
  async function until<T>(what: string, found: () => T | null | undefined | false): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const look = () => {
      const result = found()
      if (result !== null && result !== undefined && result !== false) resolve(result)
    }
    const timer = setTimeout(
      () => reject(new Error(`no ${what}; closed: ${closed}; frames: ${JSON.stringify(frames).slice(-2000)}`)),
      PATIENCE,
    )
    waiting.add(look)
    look()
    return promise.finally(() => {
      clearTimeout(timer)
      waiting.delete(look)
    })
  }

  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.once('unexpected-response', (_request, response) => reject(new Error(`handshake: ${response.statusCode}`)))
    socket.once('error', reject)
  })
  socket.on('error', () => {})
  const send = (frame: unknown) => socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))

  const made = {
    frames,
    page,
    socket,
    send,
    until,
    /**
     * Waits until a frame of this kind has been received.
     * @returns the latest frame of this kind
     */
    frame: <Kind extends HostFrame['kind']>(kind: Kind) =>
      until(kind, () => frames.findLast((one): one is Frame<Kind> => one.kind === kind)),
    hello: (extra: object = {}) =>
      send({ kind: 'hello', client: options.client ?? null, page, width: 1000, height: 800, ...extra }),
    /** Waits until the host closes the connection. @returns the close code */
    closed: () => until('close', () => (closed === null ? null : { code: closed })).then(({ code }) => code),
    /**
     * Sends an event with the next sequence number. Doesn't wait until the host has handled it.
     * @returns the sequence number
     */
    fire(form: string, element: string, type: string, value: unknown = null): number {
      seq += 1
      send({ kind: 'event', seq, form, element, type, value })
      return seq
    },
    /** Sends an event and waits until the host has handled it. */
    async event(form: string, element: string, type: string, value: unknown = null): Promise<void> {
      const mine = made.fire(form, element, type, value)
      await until(`answer to ${type} of ${element}`, () => frames.some((one) => one.kind === 'idle' && one.seq >= mine))
    },
    press: (form: string, element: string) => made.event(form, element, 'onAction'),
    enter: (form: string, element: string, value: unknown) => made.event(form, element, 'onElementDataChange', value),
    seq: () => seq,
    /** Returns the next sequence number, for a frame that the test sends with `send`. */
    nextSeq: () => {
      seq += 1
      return seq
    },
    /**
     * Returns an element's current HTML, from its last patch or, if there is none, from the form; '' if there is no
     * such element.
     */
    element(form: string, name: string): string {
      const id = `e-${form}-${name}`
      return elements.get(id) ?? markupOf(html, id)
    },
    /** Returns an element's text, without markup. */
    text: (form: string, name: string) => textOf(made.element(form, name)),
    /** Returns the HTML of the last form frame. Later patches are not applied to it. */
    html: () => html,
    /** Returns the text of the last form frame. Later patches are not applied to it. */
    words: () => textOf(html),
    /** Returns all frames that the host has sent, as JSON. */
    everything: () => JSON.stringify(frames),
    close: () => socket.close(),
    /** Breaks the connection without a close frame, as if the network had failed. */
    drop: () => socket.terminate(),
  }
  return made
}

export type ClientPage = Awaited<ReturnType<typeof openClientPage>>

/** Opens a client and waits for its first form. */
export async function openClient(base: string, solution: string, visitor: HasCookies, options: ClientPageOptions = {}) {
  const page = await openClientPage(base, solution, visitor, options)
  page.hello()
  await page.until('form', () => page.frames.some(({ kind }) => kind === 'form'))
  await page.until('idle', () => page.frames.some(({ kind }) => kind === 'idle'))
  return page
}

/**
 * Opens a client, and closes the connection as soon as the client has opened or failed. For tests of `onSolutionOpen`.
 * @returns the page, with all frames that it received
 */
export async function openOnce(base: string, solution: string, visitor: HasCookies, query = ''): Promise<ClientPage> {
  const page = await openClientPage(base, solution, visitor, { query })
  page.hello()
  await page.until('end of the opening', () => page.frames.some(({ kind }) => kind === 'idle' || kind === 'closed'))
  page.close()
  return page
}

function markupOf(html: string, id: string): string {
  const fragment = parseFragment(html, { sourceCodeLocationInfo: true })
  const found = find(fragment, id)
  const place = found?.sourceCodeLocation
  return place ? html.slice(place.startOffset, place.endOffset) : ''
}

function find(node: Node, id: string): Element | null {
  if ('attrs' in node && node.attrs.some(({ name, value }) => name === 'id' && value === id)) return node
  if (!('childNodes' in node)) return null
  for (const child of node.childNodes) {
    const found = find(child, id)
    if (found !== null) return found
  }
  return null
}

function textOf(html: string): string {
  const collect = (node: Node): string =>
    'value' in node && node.nodeName === '#text'
      ? (node as DefaultTreeAdapterMap['textNode']).value
      : 'childNodes' in node
        ? node.childNodes.map(collect).join('')
        : ''
  return collect(parseFragment(html)).replace(/\s+/g, ' ').trim()
}
