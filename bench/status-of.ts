import { type Agent, request } from 'node:http'

/** The status of a GET request; 0 if the connection failed. */
export function statusOf(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    const sending = request(url, { agent }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    })
    sending.once('error', () => resolve(0))
    sending.end()
  })
}
