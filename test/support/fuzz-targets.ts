import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CenterProcess, startCenterProcess } from './center-process.ts'
import { CERTIFICATE_PASS, certificateFolder } from './certificates.ts'
import { addClientSolution, label } from './client-solution.ts'
import type { FuzzTarget } from './fuzz.ts'
import { ADMIN_PASSWORD } from './host.ts'
import { type HostProcess, startHostProcess } from './host-process.ts'
import { type Ask, ask } from './http.ts'
import { PATIENCE } from './patience.ts'
import { askByHttp1 } from './tls-clients.ts'
import { UNTHROTTLED } from './unthrottled.ts'

const HEALTH = '/health/live'
const AUTHORIZATION = `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`
const PROPERTIES = { SERVLET_PASSWORD: ADMIN_PASSWORD, METRICS_PORT: '0' }

export type FuzzTargets = AsyncDisposable & { readonly targets: readonly FuzzTarget[] }

/** Starts hosts and control centers with and without TLS, in four processes. The targets are all their servers. */
export async function startFuzzTargets(): Promise<FuzzTargets> {
  await using started = new AsyncDisposableStack()
  const folder = started.use(await certificateFolder())
  await folder.issue('site')
  const tls = { CERTIFICATE_FOLDER: folder.path, CERTIFICATE_NAME: 'site.p12', CERTIFICATE_PASS }
  const home = () => {
    const path = mkdtempSync(join(tmpdir(), 'solhost-fuzz-'))
    started.defer(() => rmSync(path, { recursive: true, force: true }))
    return path
  }
  async function host(properties: Record<string, string>): Promise<HostProcess> {
    const made = await startHostProcess(home(), { ...PROPERTIES, ...properties })
    started.defer(async () => {
      made.child.kill('SIGKILL')
      await made.gone
    })
    return made
  }
  async function center(properties: Record<string, string>): Promise<CenterProcess> {
    const made = await startCenterProcess(home(), { ...UNTHROTTLED, ...properties })
    started.defer(() => made.kill())
    return made
  }

  const plain = await host({})
  const secure = await host({ ...tls, ADMIN_HOST: '0.0.0.0', HTTP_REDIRECT_PORT: '0' })
  const ports = { plain: await portsOf(plain), secure: await portsOf(secure) }
  const askSecurely = askByHttp1(folder.bytes('ca.pem'))
  await uploadOpen(plain.url, ask)
  await uploadOpen(secure.url, askSecurely)
  const centers = { plain: await center({}), secure: await center(tls) }

  const of = (process: HostProcess) => ({ healthPath: HEALTH, socketPath: null, ended: () => whyEnded(process) })
  const socketPath = '/solution/open/client'
  const centerTarget = (name: string, process: CenterProcess, url: string): FuzzTarget => {
    return { name, url, healthPath: HEALTH, socketPath: null, ended: () => whyCenterEnded(process) }
  }
  const targets: FuzzTarget[] = [
    { ...of(plain), name: 'pages', url: plain.url, socketPath },
    { ...of(plain), name: 'admin port', url: ports.plain.admin },
    { ...of(plain), name: 'metrics port', url: ports.plain.metrics, healthPath: '/metrics' },
    { ...of(secure), name: 'pages with TLS', url: secure.url, socketPath },
    { ...of(secure), name: 'admin port with TLS', url: ports.secure.admin },
    { ...of(secure), name: 'redirect port', url: ports.secure.redirect },
    centerTarget('control center', centers.plain, centers.plain.url),
    centerTarget('control center with TLS', centers.secure, centers.secure.url.replace('http:', 'https:')),
  ]
  const everything = started.move()
  return { targets, [Symbol.asyncDispose]: () => everything.disposeAsync() }
}

/** Waits for the complete start message, and reads the addresses of the additional ports from it. */
async function portsOf({ output }: HostProcess): Promise<{ admin: string; metrics: string; redirect: string }> {
  const found = (pattern: RegExp) => pattern.exec(output())?.[1]
  const until = Date.now() + PATIENCE
  while (!output().includes('Ctrl+C')) {
    if (Date.now() > until) throw new Error(`the host does not name its ports: ${output()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    admin: found(/Admin pages: +(https?:\/\/[^/\s]+)/) ?? '',
    metrics: found(/Metrics: +(http:\/\/[^/\s]+)/) ?? '',
    redirect: `http://127.0.0.1:${found(/Port (\d+) redirects/)}`,
  }
}

/** A solution that needs no sign-in, so anyone can open its WebSocket. */
async function uploadOpen(url: string, send: typeof ask): Promise<void> {
  const headers = { authorization: AUTHORIZATION, 'content-type': 'application/zip' }
  const upload = async (name: string, body: Uint8Array) => {
    const asked: Ask = { method: 'PUT', headers, body }
    const { status, text } = await send(`${url}/admin/api/solutions/${name}`, asked)
    return new Response(text, { status })
  }
  await addClientSolution({ upload }, 'open', { elements: [label('text')], script: '' })
}

function whyEnded({ child, output }: HostProcess): string | null {
  if (child.exitCode === null && child.signalCode === null) return null
  return `the host has ended (${child.exitCode ?? child.signalCode}): ${output().slice(-3000)}`
}

function whyCenterEnded({ pid, output }: CenterProcess): string | null {
  try {
    process.kill(pid(), 0)
    return null
  } catch {
    return `the control center has ended: ${output().slice(-3000)}`
  }
}
