import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { readSettings } from '../../host/config/settings.ts'
import { type Host, type HostOptions, startHost } from '../../host/main.ts'
import { CHEAP_HASHES } from './cheap-passwords.ts'
import { ONE_SPARE } from './one-spare.ts'
import { createSharedSupervisor } from './shared-checks.ts'
import { UNTHROTTLED } from './unthrottled.ts'

export type TestHost = Host & {
  readonly home: string
  /** The `Authorization` header for requests as the admin account. */
  readonly admin: string
  /** Returns everything that the platform has logged. */
  readonly logged: () => string
  readonly upload: (name: string, bundle: Uint8Array) => Promise<Response>
}

export const ADMIN_PASSWORD = 'test admin password'

/** Starts a real host on free loopback ports, with its own folder. By default, it has no example solutions. */
export async function startTestHost(
  properties: Record<string, string> = {},
  options: Pick<HostOptions, 'inspect' | 'createSupervisor'> & { readonly home?: string } = {},
): Promise<TestHost> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'solhost-test-'))
  const settings = readSettings({
    PORT: '0',
    ADMIN_PORT: '0',
    PLATFORM_HOME: home,
    ENVIRONMENT: 'prod',
    SERVLET_PASSWORD: ADMIN_PASSWORD,
    ...ONE_SPARE,
    ...UNTHROTTLED,
    ...properties,
  })
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const host = await startHost({
    settings,
    log,
    version: 'test',
    terminal: false,
    inspect: options.inspect,
    createSupervisor: options.createSupervisor ?? createSharedSupervisor,
    passwordCost: CHEAP_HASHES,
  })
  const admin = `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`
  return {
    ...host,
    home,
    admin,
    logged: () => lines.join(''),
    upload: (name, bundle) =>
      fetch(`${host.url}/admin/api/solutions/${name}`, {
        method: 'PUT',
        headers: { authorization: admin, 'content-type': 'application/zip' },
        body: new Uint8Array(bundle),
      }),
    async stop() {
      await host.stop()
      if (options.home === undefined) rmSync(home, { recursive: true, force: true })
    },
  }
}
