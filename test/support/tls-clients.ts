import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import type { Answer, Ask } from './http.ts'

/** Sends a request over TLS. */
export type AskTls = (url: string, ask?: Ask) => Promise<Answer>

/** Returns a function that sends each request over a new HTTP/1.1 connection. */
export function askByHttp1(ca: Buffer): AskTls {
  return (url, { method = 'GET', headers = {}, body, path } = {}) =>
    new Promise((resolve, reject) => {
      const options = { method, headers, ca, agent: false, ALPNProtocols: ['http/1.1'] }
      const request = httpsRequest(url, { ...options, ...(path === undefined ? {} : { path }) }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => resolve(answerOf(response.statusCode ?? 0, response.headers, chunks)))
      })
      request.on('error', reject)
      request.end(body)
    })
}

/**
 * Returns a function that sends requests over a single HTTP/2 connection. `close` closes the connection. A request's
 * `Host` header becomes its authority.
 */
export function askByHttp2(
  origin: string,
  ca: Buffer,
): { readonly ask: AskTls; readonly session: ClientHttp2Session; readonly close: () => void } {
  const session = connect(origin, { ca })
  // Ignore errors of the connection: its requests fail with the same error.
  session.on('error', () => undefined)
  const ask: AskTls = (url, given = {}) => askOn(session, url, given)
  return { session, ask, close: () => session.destroy() }
}

/**
 * Sends a request over this connection.
 * @throws the stream's error, or an Error if the stream ends without a response
 */
function askOn(
  session: ClientHttp2Session,
  url: string,
  { method = 'GET', headers = {}, body, path }: Ask,
): Promise<Answer> {
  const { pathname, search } = new URL(url)
  const { host, ...others } = headers
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': method,
      ':path': path ?? `${pathname}${search}`,
      ...(host === undefined ? {} : { ':authority': host }),
      ...others,
    })
    const chunks: Buffer[] = []
    let answer: OutgoingHttpHeaders | null = null
    stream.on('response', (received) => (answer = received))
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('close', () => {
      if (answer === null) reject(new Error(`the stream ended with ${stream.rstCode} and no answer`))
      else resolve(answerOf(Number(answer[':status']), answer as Answer['headers'], chunks))
    })
    stream.end(body)
  })
}

function answerOf(status: number, headers: Answer['headers'], chunks: readonly Buffer[]): Answer {
  const text = Buffer.concat(chunks).toString('utf8')
  return { status, headers, text, json: () => JSON.parse(text) as unknown }
}
