import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect, type LookupFunction } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from './database-server.ts'
import type { Answer, Ask } from './http.ts'

/** The path of Debian's HAProxy, or undefined if it is not installed. */
export const haproxyPath = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy'].find(existsSync)
const HAPROXY_CONFIG = fileURLToPath(new URL('../../deploy/haproxy.cfg', import.meta.url))
/** The file with the HAProxy configuration for a control center. */
export const CENTER_HAPROXY_CONFIG = fileURLToPath(new URL('../../deploy/control-center/haproxy.cfg', import.meta.url))

/** The host name in the certificate from `test/support/tls`. */
const PROXIED_NAME = 'api.example.test'
const tls = (file: string) => readFileSync(new URL(`./tls/${file}`, import.meta.url))

const lookup: LookupFunction = (_name, { all }, found) => {
  if (all === true) found(null, [{ address: '127.0.0.1', family: 4 }])
  else found(null, '127.0.0.1', 4)
}

/**
 * Options for requests through the proxy. They trust the test's certificate authority, and resolve every name to
 * loopback.
 */
export const PROXY_CLIENT = { ca: tls('authority.pem'), lookup }

/** Chooses free ports, and returns the values of the variables in the nodes' HAProxy configuration. */
export async function proxyVariables(nodes: readonly [string, string], port: number, certificate: string) {
  const [https, http, admin] = [await freePort(), await freePort(), await freePort()]
  return {
    PROXY_ADDRESS: '127.0.0.1',
    PROXY_HTTPS_PORT: String(https),
    PROXY_HTTP_PORT: String(http),
    PROXY_ADMIN_PORT: String(admin),
    PROXY_CERTIFICATE: certificate,
    NODE_ONE: nodes[0],
    NODE_TWO: nodes[1],
    NODE_PORT: String(port),
    NODE_ADMIN_PORT: String(port + 1),
  }
}

/** Chooses free ports, and returns the values of the variables in the control center's HAProxy configuration. */
export async function centerProxyVariables(center: string, port: number, certificate: string) {
  const [https, http] = [await freePort(), await freePort()]
  return {
    PROXY_ADDRESS: '127.0.0.1',
    PROXY_HTTPS_PORT: String(https),
    PROXY_HTTP_PORT: String(http),
    PROXY_CERTIFICATE: certificate,
    CENTER: center,
    CENTER_PORT: String(port),
  }
}

/**
 * Writes the test's certificate and key to one file, as HAProxy requires.
 * @returns the file's path, and a function that removes the file
 */
export function proxyCertificate() {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-proxy-'))
  const file = join(folder, 'certificate.pem')
  writeFileSync(file, Buffer.concat([tls('certificate.pem'), tls('key.pem')]))
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Lets HAProxy check a configuration in `deploy/`. */
export function checkProxyConfig(variables: Readonly<Record<string, string>>, config = HAPROXY_CONFIG) {
  return spawnSync(haproxyPath ?? 'haproxy', ['-c', '-f', config], { env: variables, encoding: 'utf8' })
}

/** Starts HAProxy with a configuration in `deploy/`. Resolves when the proxy listens. */
export async function startHaproxy(variables: Readonly<Record<string, string>>, config = HAPROXY_CONFIG) {
  const child = spawn(haproxyPath ?? 'haproxy', ['-db', '-f', config], { env: variables })
  let output = ''
  let isGone = false
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      if (output.length < 100_000) output += String(chunk)
    })
  }
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve())).then(() => {
    isGone = true
  })
  const endWithTests = () => child.kill('SIGKILL')
  process.on('exit', endWithTests)
  while (!(await listens(Number(variables.PROXY_HTTPS_PORT)))) {
    if (isGone) throw new Error(`HAProxy does not start: ${output}`)
    await new Promise(setImmediate)
  }
  return {
    /** The URL at which browsers open the proxy. */
    origin: originOf(variables),
    output: () => output,
    async stop() {
      child.kill('SIGTERM')
      await gone
      process.off('exit', endWithTests)
    },
  }
}

/** Returns the URL at which browsers open a proxy that runs with these variables. */
export function originOf({ PROXY_HTTPS_PORT }: Readonly<Record<string, string>>): string {
  return `https://${PROXIED_NAME}:${PROXY_HTTPS_PORT}`
}

/** Sends a request through the proxy, like `ask` in `http.ts`. Fails if there is no response within 30 s. */
export function askProxied(url: string, { method = 'GET', headers = {}, body, path }: Ask = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers,
      agent: false,
      timeout: 30_000,
      ...PROXY_CLIENT,
      ...(path === undefined ? {} : { path }),
    }
    const asked = request(url, options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const status = response.statusCode ?? 0
        resolve({ status, headers: response.headers, text, json: () => JSON.parse(text) as unknown })
      })
    })
    asked.on('timeout', () => asked.destroy(new Error('no answer in 30 s')))
    asked.on('error', reject)
    asked.end(body)
  })
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => resolve(false))
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
