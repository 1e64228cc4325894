import { type IncomingHttpHeaders, type IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type Koa from 'koa'
import type { ask } from './http.ts'

/** Like `ask`, but calls an app directly, without a server. The response's body must be text. */
export function askOf(app: Koa): typeof ask {
  const handle = app.callback()
  return (address, { method = 'GET', headers = {}, body, path } = {}) => {
    const url = new URL(address)
    const bytes = Buffer.from(body ?? '')
    const sent = body === undefined ? headers : { ...headers, 'content-length': String(bytes.length) }
    const request = Object.assign(Readable.from([bytes]), {
      method,
      url: path ?? `${url.pathname}${url.search}`,
      headers: { host: url.host, ...sent },
      httpVersionMajor: 1,
      httpVersionMinor: 1,
      socket: { remoteAddress: '127.0.0.1' },
    }) as unknown as IncomingMessage
    const response = new ServerResponse(request)
    return new Promise((resolve, reject) => {
      response.end = ((text = '') => {
        const given = Object.entries(response.getHeaders()).map(([name, value]) => [
          name,
          typeof value === 'number' ? String(value) : value,
        ])
        resolve({
          status: response.statusCode,
          headers: Object.fromEntries(given) as IncomingHttpHeaders,
          text: String(text),
          json: () => JSON.parse(String(text)) as unknown,
        })
        return response
      }) as typeof response.end
      handle(request, response).catch(reject)
    })
  }
}
