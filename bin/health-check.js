// The container image's health check: requests the health of the host or control center in the same container. A base
// image may have neither curl nor wget, and the command line would load far more code. Exits with 0, or with 1 after
// printing the reason in one line.
import { readFileSync } from 'node:fs'

/** Response timeout in ms, below the 5 s of the image's HEALTHCHECK. */
const TIMEOUT = 4000

/** Default ports, used if PORT is not set. */
const PORTS = { host: 8080, controlCenter: 8090 }

/**
 * The health URL for these environment variables.
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
 * @returns {Promise<string | null>} why the service is not healthy; null if it is healthy
 */
export async function whyUnhealthy(url, time = TIMEOUT) {
  const { get } = await import(url.startsWith('https:') ? 'node:https' : 'node:http')
  return new Promise((resolve) => {
    // The certificate doesn't have to match the host name, because the host is on this machine, and no secret is sent.
    const request = get(url, { agent: false, rejectUnauthorized: false, timeout: time }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 ? null : `responded with HTTP ${response.statusCode}`)
    })
    request.on('timeout', () => request.destroy(new Error(`no response within ${time / 1000} s`)))
    request.on('error', (error) => resolve(error.message))
  })
}

/**
 * Determines which of the two services this container runs, from the command line of process 1.
 * @param {string} [file] the file that contains this command line
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
