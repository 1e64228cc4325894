import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions as SecureRequestOptions } from 'node:https'
import { SOLHOST } from '../base/program/program-name.ts'
import { CommandError } from '../base/terminal/command.ts'
import { printable } from '../base/terminal/terminal.ts'

/** An answer of the admin API; `body` is what its JSON holds, null where it is none. */
export type ApiAnswer = { readonly status: number; readonly body: unknown; readonly location: string | null }

export type ApiContent = { readonly type: string; readonly bytes: Buffer }

export interface HostApi {
  /** @param path from the root on */
  get(path: string): Promise<ApiAnswer>
  /** @param content sent as its type says; null: nothing is sent */
  send(method: 'POST' | 'PATCH' | 'DELETE', path: string, content: ApiContent | null): Promise<ApiAnswer>
  /**
   * Reads a file piece by piece, however long it is.
   * @returns null; the answer where it is not of that type, such as a refusal
   */
  download(path: string, type: string, take: (piece: Buffer) => Promise<void>): Promise<ApiAnswer | null>
  /** @param onProgress is told how many bytes are on their way */
  put(path: string, content: Buffer, onProgress: (sent: number) => void): Promise<ApiAnswer>
  /**
   * Reads server-sent events until the other side ends.
   * @param onOpen called when the events begin @returns the answer where it is no stream
   */
  follow(path: string, onOpen: () => void, onEvent: (data: string) => void): Promise<ApiAnswer | null>
}

/** A host that says nothing for so long, in ms, does not answer; checking an upload takes it some seconds. */
const ANSWER_TIME = 60_000
/** The same for a host on this machine that is only looked at. */
const LOOK_TIME = 2000
const MOST_ANSWER = 16 * 1024 ** 2
const PIECE = 64 * 1024

/** Every method throws a CommandError `unreachable` where no Solhost answers. */
export function createHostApi(url: URL, authorization: string): HostApi {
  function open(method: string, path: string, headers: Record<string, string>, send: (to: Sending) => void) {
    return request(url, path, { method, headers: { authorization, ...headers } }, ANSWER_TIME, send)
  }

  return {
    get: async (path) => read(await open('GET', path, { accept: 'application/json' }, (sending) => sending.end()), url),
    async send(method, path, content) {
      const { type, bytes } = content ?? { type: null, bytes: Buffer.alloc(0) }
      const headers = {
        accept: 'application/json',
        ...(type === null ? {} : { 'content-type': type, 'content-length': String(bytes.length) }),
      }
      return read(await open(method, path, headers, (sending) => sending.end(bytes)), url)
    },
    async download(path, type, take) {
      const response = await open('GET', path, { accept: `${type}, application/json` }, (sending) => sending.end())
      if (response.statusCode !== 200 || !response.headers['content-type']?.startsWith(type)) return read(response, url)
      const pieces = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>
      const next = () => pieces.next().catch((error: Error) => Promise.reject(unreachable(url, error)))
      for (let piece = await next(); piece.done !== true; piece = await next()) await take(piece.value)
      return null
    },
    async put(path, content, onProgress) {
      const headers = { 'content-type': 'application/zip', 'content-length': String(content.length) }
      return read(await open('PUT', path, headers, (sending) => sendPieces(sending, content, onProgress)), url)
    },
    async follow(path, onOpen, onEvent) {
      const response = await open('GET', path, { accept: 'text/event-stream' }, (sending) => sending.end())
      if (!/^text\/event-stream/.test(response.headers['content-type'] ?? '')) return read(response, url)
      onOpen()
      try {
        for await (const line of linesOf(response)) {
          if (line.startsWith('data: ')) onEvent(line.slice('data: '.length))
        }
      } catch {
        // Cut off: the caller comes back, as after an ordinary end.
      }
      return null
    },
  }
}

/** Whether a host answers there that takes work. */
export async function isSolhost(url: URL): Promise<boolean> {
  try {
    // Nothing secret is sent, and a certificate is seldom for the address under which a host is looked for here.
    const options = { method: 'GET', rejectUnauthorized: false }
    const response = await request(url, '/health/live', options, LOOK_TIME, (sending) => sending.end())
    return ((await read(response, url)).body as { status?: unknown } | null)?.status === 'ok'
  } catch {
    return false
  }
}

/** @param time in ms, for each pause of the other side */
function request(
  url: URL,
  path: string,
  options: SecureRequestOptions,
  time: number,
  send: (to: Sending) => void,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const open = url.protocol === 'https:' ? httpsRequest : httpRequest
    const sending = open(new URL(path, url), { ...options, agent: false }, resolve)
    sending.setTimeout(time, () => sending.destroy(new Error(`no answer within ${time / 1000} s`)))
    sending.on('error', (error) => reject(unreachable(url, error)))
    send(sending)
  })
}

type Sending = ReturnType<typeof httpRequest>

/** Piece by piece, each when the one before is gone, so that progress is true. */
function sendPieces(sending: Sending, content: Buffer, onProgress: (sent: number) => void): void {
  const sendFrom = (start: number) => {
    if (start >= content.length) return void sending.end()
    const end = Math.min(start + PIECE, content.length)
    sending.write(content.subarray(start, end), () => {
      onProgress(end)
      sendFrom(end)
    })
  }
  sendFrom(0)
}

async function* linesOf(response: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MOST_ANSWER) throw new Error('a line has no end')
    yield* lines
  }
}

async function read(response: IncomingMessage, url: URL): Promise<ApiAnswer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MOST_ANSWER) throw new Error('the answer has no end')
      chunks.push(chunk)
    }
  } catch (error) {
    throw unreachable(url, error as Error)
  }
  const location = response.headers.location ?? null
  return { status: response.statusCode ?? 0, body: jsonOf(Buffer.concat(chunks).toString('utf8')), location }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: `Nothing listens there. Start a host with "${SOLHOST} start", or correct the address.`,
  ENOTFOUND: 'There is no such host name. Correct the address.',
  ECONNRESET: 'The connection was cut. Try again; if it stays so, ask the operator.',
  EPROTO: 'It speaks another protocol there: is it http instead of https?',
}

function unreachable(url: URL, error: Error): CommandError {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const isCertificate = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)
  const trust = 'Its certificate is not trusted here: NODE_EXTRA_CA_CERTS names the file of an authority of your own.'
  const advice = isCertificate ? trust : (ADVICE[code] ?? 'Correct the address, or ask the operator.')
  const why = code === '' ? printable(error.message) : code
  return new CommandError('unreachable', `No host answers at ${url.origin} (${why}). ${advice}`, { cause: error })
}
