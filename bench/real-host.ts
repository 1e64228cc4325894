import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startHostProcess } from '../test/support/host-process.ts'
import { ask, createVisitor } from '../test/support/http.ts'
import { bundleOf, type Files, moduleFile } from '../test/support/zip.ts'
import type { FormTarget } from './form-load.ts'
import { HOOK } from './login.ts'

const PASSWORD = 'password of the bench'

/** A host that runs in a separate process and folder with default settings, as `npm start` runs it. */
export type RealHost = {
  readonly pid: number
  readonly url: string
  readonly home: string
  /** The host's output so far. */
  readonly output: () => string
  /** Uploads a solution with this script as its authenticator. */
  readonly upload: (name: string, script?: string, realm?: 'fresh' | 'hardened') => Promise<void>
  /**
   * Uploads a solution with this manifest and without scripts; `files` are further files, for example `media/logo.png`.
   */
  readonly uploadPlain: (
    manifest: { readonly name: string; readonly authenticator: string },
    files?: Files,
  ) => Promise<void>
  /** Returns the response to a GET request to the admin API; the path is relative to `/admin/api/`. */
  readonly askAdmin: (path: string) => Promise<unknown>
  readonly signal: (signal: 'SIGUSR2') => void
  readonly stop: () => Promise<void>
}

/** @param prepare fills the folder before the host starts */
export async function startRealHost(
  environment: Record<string, string> = {},
  prepare: (home: string) => Promise<void> = async () => {},
): Promise<RealHost> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-bench-'))
  await prepare(home)
  const host = await startHostProcess(home, { SERVLET_PASSWORD: PASSWORD, ...environment })
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
  const { child, url, output, gone } = host
  // Terminates the host when this process exits.
  const end = () => void child.kill('SIGTERM')
  process.once('exit', end)
  async function put(name: string, body: Buffer): Promise<void> {
    const headers = { authorization, 'content-type': 'application/zip' }
    const answer = await ask(`${url}/admin/api/solutions/${name}`, { method: 'PUT', headers, body })
    if (answer.status !== 201) throw new Error(`the upload of ${name} failed: HTTP ${answer.status}: ${answer.text}`)
  }
  return {
    pid: child.pid ?? 0,
    url,
    home,
    output,
    upload: async (name, script = HOOK, realm = 'fresh') => put(name, await solutionBundle(name, script, realm)),
    uploadPlain: async (manifest, files) => put(manifest.name, await bundleOf(manifest, files)),
    async askAdmin(path) {
      const answer = await ask(`${url}/admin/api/${path}`, { headers: { authorization } })
      if (answer.status !== 200) throw new Error(`GET ${path} failed: HTTP ${answer.status}: ${answer.text}`)
      return answer.json()
    },
    signal: (signal) => void child.kill(signal),
    async stop() {
      process.off('exit', end)
      end()
      await gone
      rmSync(home, { recursive: true, force: true })
    },
  }
}

function solutionBundle(name: string, script: string, realm: string): Promise<Buffer> {
  const manifest = { name, authenticator: 'AUTHENTICATOR', modules: ['auth'], ...(realm === 'fresh' ? {} : { realm }) }
  return bundleOf(manifest, {
    ...moduleFile('auth', { type: 'authenticator' }),
    'modules/auth/globals.js': script,
    'i18n/default.json': TEXTS,
  })
}

const TEXTS = JSON.stringify({
  'tenant.error.missing': 'Enter your tenant',
  'tenant.error.pattern': 'Tenant names have only letters and digits',
  'tenant.error.wrong': 'The name or password is wrong',
})

/** Loads the login page like a browser. */
export async function openLoginPage(url: string, solution: string): Promise<FormTarget> {
  const path = `/solution/${solution}/index.html`
  const visitor = createVisitor(url)
  await visitor.get(path)
  const token = visitor.token()
  if (token === null) throw new Error('the login page has no hidden token')
  const cookie = [...visitor.cookies].map(([name, { value }]) => `${name}=${value}`).join('; ')
  return { port: Number(new URL(url).port), path, token, cookie }
}
