// The health check of the container image: asks the host beside it whether it lives. A base may have neither curl nor
// wget, and the command line would load far more than this needs. Ends with 0, or with 1 and a line that says why.

/** An answer that has not begun after this long is none, in ms; the image's HEALTHCHECK waits 5 s. */
const TIMEOUT = 4000

/**
 * Where the host listens, by its environment properties.
 * @param {Record<string, string | undefined>} environment
 */
export function healthUrl({ HOST, PORT, CERTIFICATE_NAME }) {
  const everywhere = { '': '127.0.0.1', '0.0.0.0': '127.0.0.1', '::': '::1' }
  const host = HOST ?? ''
  const address = everywhere[host] ?? host
  const scheme = (CERTIFICATE_NAME ?? '') === '' ? 'http' : 'https'
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${PORT || 8080}/health/live`
}

/**
 * @param {string} url
 * @param {number} [time] see `TIMEOUT`
 * @returns {Promise<string | null>} why it is not healthy, or null
 */
export async function whyUnhealthy(url, time = TIMEOUT) {
  const { get } = await import(url.startsWith('https:') ? 'node:https' : 'node:http')
  return new Promise((resolve) => {
    // Whose certificate it is does not matter: it is this machine's own host, and nothing secret is sent.
    const request = get(url, { agent: false, rejectUnauthorized: false, timeout: time }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 ? null : `answered ${response.statusCode}`)
    })
    request.on('timeout', () => request.destroy(new Error(`no answer within ${time / 1000} s`)))
    request.on('error', (error) => resolve(error.message))
  })
}

if (import.meta.main) {
  const url = healthUrl(process.env)
  const problem = await whyUnhealthy(url)
  if (problem !== null) process.stdout.write(`${url}: ${problem}\n`)
  process.exitCode = problem === null ? 0 : 1
}
