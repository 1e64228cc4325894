import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SECURITY_HEADERS } from '../base/http/content-security.ts'
import { HOOK } from './login.ts'

export type WorkerdProcess = {
  readonly pid: number
  readonly port: number
  readonly version: string
  readonly stop: () => Promise<void>
}

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "login", worker = (serviceWorkerScript = embed "worker.js", compatibilityDate = "2026-11-01"))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "login")]
);
`

/**
 * Starts workerd, by default with the login hook. All requests share one global scope, as on Cloudflare's platform. The
 * package with the binary for this operating system is a direct dependency (`bench/package.json`), so no install script
 * has to run.
 */
export async function startWorkerd(worker: string = loginWorker()): Promise<WorkerdProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-workerd-'))
  writeFileSync(join(folder, 'worker.js'), worker)
  writeFileSync(join(folder, 'config.capnp'), CONFIG)
  const { binary, version } = findBinary()
  const child = spawn(binary, ['serve', join(folder, 'config.capnp'), '--control-fd=3'], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const end = () => void child.kill('SIGTERM')
  process.once('exit', end)
  const gone = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`workerd exited with code ${code}`)))
  })
  gone.catch(() => {})
  const port = await Promise.race([listening(child.stdio[3] as NodeJS.ReadableStream), gone])
  return {
    pid: child.pid ?? 0,
    port,
    version,
    async stop() {
      process.off('exit', end)
      end()
      await gone.catch(() => {})
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** @param file `workerd-lean.js` is the smallest login, which stores nothing */
export function loginWorker(file: 'workerd-login.js' | 'workerd-lean.js' = 'workerd-login.js'): string {
  const script = readFileSync(new URL(file, import.meta.url), 'utf8')
  return [`const HEADERS = ${JSON.stringify(SECURITY_HEADERS)}`, HOOK, script].join('\n')
}

/** workerd reports its port as a line of JSON. */
function listening(control: NodeJS.ReadableStream): Promise<number> {
  return new Promise((resolve) => {
    let text = ''
    control.on('data', (chunk) => {
      text += String(chunk)
      const port = /"event":"listen".*?"port":(\d+)/.exec(text)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
  })
}

function findBinary(): { binary: string; version: string } {
  const name = `@cloudflare/workerd-linux-${process.arch === 'x64' ? '64' : process.arch}`
  const require = createRequire(import.meta.url)
  try {
    const { version } = require(`${name}/package.json`) as { version: string }
    return { binary: require.resolve(`${name}/bin/workerd`), version }
  } catch (error) {
    throw new Error(`the package ${name} is not installed: run "npm ci"`, { cause: error })
  }
}
