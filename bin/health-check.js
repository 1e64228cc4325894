// The health check of the container image: asks the host, or control center, beside it whether it lives. A base may have neither
// curl nor wget, and the command line would load far more than this needs. Ends with 0, or with 1 and a line that says why.
import { readFileSync } from 'node:fs'

/** An answer that has not begun after this long is none, in ms; the image's HEALTHCHECK waits 5 s. */
const TIMEOUT = 4000

/** Where each listens unless PORT says otherwise. */
const PORTS = { host: 8080, controlCenter: 8090 }

/**
 * Where it listens, by its environment properties.
 * @param {Record<string, string | undefined>} environment
 * @param {keyof typeof PORTS} [who]
 */
export function healthUrl({ HOST, PORT, CERTIFICATE_NAME }, who = 'host') {
  const everywhere = { '': '127.0.0.1', '0.0.0.0': '127.0.0.1', '::': '::1' }
  const host = HOST ?? ''
  const address = everywhere[host] ?? host
  const scheme = (CERTIFICATE_NAME ?? '') === '' ? 'http' : 'https'
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${PORT || PORTS[who]}/health/live`
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

/**
 * Which of the two runs in this container, by what process 1 is, or is to start.
 * @param {string} [file] its command line
 * @returns {keyof typeof PORTS}
 */
export function whoRuns(file = '/proc/1/cmdline') {
  try {
    return readFileSync(file, 'utf8').includes('control-center') ? 'controlCenter' : 'host'
  } catch {
    return 'host'
  }
}

if (import.meta.main) {
  const url = healthUrl(process.env, whoRuns())
  const problem = await whyUnhealthy(url)
  if (problem !== null) process.stdout.write(`${url}: ${problem}\n`)
  process.exitCode = problem === null ? 0 : 1
}
