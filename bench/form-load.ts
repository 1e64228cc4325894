import { connect, type Socket } from 'node:net'
import { CREDENTIALS } from './login.ts'

/** The URL of the login form, and the data that the browser received with the login page. */
export type FormTarget = {
  readonly port: number
  readonly path: string
  /** The hidden token in the form. It is valid only with `cookie`. */
  readonly token: string
  readonly cookie: string
}

/** Number of concurrent browsers, each on a keep-alive connection. */
const CONNECTIONS = 8

/**
 * Posts the login form for `milliseconds`. Each connection posts again as soon as it gets a response. The requests look
 * like those of a browser that has loaded the page: they contain the login cookie and the hidden token, but no session.
 * All requests use the same page, since the host doesn't record pages. So only the POST is measured. The client runs in
 * the bench process and uses little of the two cores. Requests are built once, and only the status, length and session
 * cookie of a response are read.
 * @throws if a response is not a 303 with a session cookie
 */
export async function postForms(
  target: FormTarget,
  milliseconds: number,
  connections = CONNECTIONS,
): Promise<{ logins: number; seconds: number }> {
  const bytes = formRequest(target)
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(target.port)))
  const start = performance.now()
  const until = start + milliseconds
  const counts = await Promise.all(sockets.map((socket) => postUntil(socket, bytes, until)))
  const seconds = (performance.now() - start) / 1000
  for (const socket of sockets) socket.destroy()
  return { logins: counts.reduce((sum, count) => sum + count, 0), seconds }
}

/** Returns the raw request of a browser that submits the form. */
export function formRequest(
  { port, path, token, cookie }: FormTarget,
  fields: Readonly<Record<string, string>> = CREDENTIALS,
): Buffer {
  const body = new URLSearchParams({ csrf_token: token, ...fields }).toString()
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Connection: keep-alive',
    `Content-Length: ${body.length}`,
    `Origin: http://127.0.0.1:${port}`,
    'Content-Type: application/x-www-form-urlencoded',
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36',
    'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'Sec-Fetch-Site: same-origin',
    'Sec-Fetch-Mode: navigate',
    'Sec-Fetch-Dest: document',
    `Referer: http://127.0.0.1:${port}${path}`,
    'Accept-Encoding: gzip, deflate, br',
    'Accept-Language: en-US,en;q=0.9',
    `Cookie: ${cookie}`,
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** Returns the raw request of a browser that opens a URL. */
export function pageRequest(port: number, path: string, cookie: string): Buffer {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Connection: keep-alive',
    'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'Sec-Fetch-Site: none',
    'Sec-Fetch-Mode: navigate',
    'Sec-Fetch-Dest: document',
    'Accept-Encoding: gzip, deflate, br',
    'Accept-Language: en-US,en;q=0.9',
    `Cookie: ${cookie}`,
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
}

/** Sends one request on a keep-alive connection. @returns the response with its headers */
export function exchange(socket: Socket, bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const onData = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (answerEnd(text) === text.length) end(() => resolve(text))
    }
    const onClose = () =>
      end(() => reject(new Error('the server closed a connection before its response was complete')))
    function end(settle: () => void): void {
      socket.off('data', onData).off('close', onClose)
      settle()
    }
    socket.on('data', onData).on('close', onClose)
    socket.write(bytes)
  })
}

export function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => {
      socket.off('error', reject)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

function postUntil(socket: Socket, bytes: Buffer, until: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let count = 0
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const end = answerEnd(text)
      if (end === null) return
      if (end !== text.length || !text.startsWith('HTTP/1.1 303 ') || !/^set-cookie: session-/im.test(text)) {
        reject(
          new Error(
            `expected a login response with status 303 and a session cookie, but received: ${text.slice(0, 500)}`,
          ),
        )
        return
      }
      text = ''
      count++
      if (performance.now() < until) socket.write(bytes)
      else resolve(count)
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a connection during the logins')))
    socket.write(bytes)
  })
}

/** Returns the length of the response; null if the response is incomplete. */
function answerEnd(text: string): number | null {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return null
  const length = /^content-length: (\d+)/im.exec(text)?.[1]
  if (length === undefined) throw new Error(`a response has no Content-Length header: ${text.slice(0, 500)}`)
  const end = head + 4 + Number(length)
  return text.length >= end ? end : null
}
