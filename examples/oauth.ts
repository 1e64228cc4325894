/**
 * `npm run example:oauth`: runs the solution `many-providers` and its identity providers on this machine.
 *
 * This file is not in `solutions/many-providers`, because a solution's folder is uploaded as it is. The file has the
 * same name as the command.
 */
import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { packFolder } from '../base/bundles/pack.ts'
import { readSettings } from '../host/config/settings.ts'
import { startHost } from '../host/main.ts'
import { exampleFolder } from '../host/solutions/examples.ts'
import { CLIENT_SECRET } from '../test/support/client-secret.ts'
import { type OidcProvider, type ProviderAccount, startOidcProvider } from '../test/support/oidc-provider.ts'

const SOLUTION = 'many-providers'

type Tenant = {
  readonly name: string
  readonly title: string
  readonly accent: string
  /** The default port of the identity provider. The solution's script contains the same port. */
  readonly port: number
  readonly portName: string
  readonly secretName: string
  readonly accounts: readonly ProviderAccount[]
}

const TENANTS: readonly Tenant[] = [
  {
    name: 'north',
    title: 'North Identity',
    accent: '#2459b3',
    port: 4410,
    portName: 'NORTH_PORT',
    secretName: 'NORTH_SECRET',
    accounts: [
      account('anna', 'north', { email: 'anna@north.example', name: 'Anna Ek' }),
      account('noor', 'north', { email: 'noor@north.example', name: 'Noor Berg' }),
      account('nils', 'north', { email: 'nils@north.example', name: 'Nils Lund' }),
    ],
  },
  {
    name: 'south',
    title: 'South Identity',
    accent: '#9a3412',
    port: 4420,
    portName: 'SOUTH_PORT',
    secretName: 'SOUTH_SECRET',
    accounts: [
      account('bram', 'south', { email: 'bram@south.example', name: 'Bram van Dijk' }),
      account('eve', 'south', { email: 'anna@north.example', name: 'Eve' }),
    ],
  },
]

/** Notes on the accounts that are refused on purpose. */
const REMARKS: Readonly<Record<string, string>> = {
  nils: 'unknown to the solution, so the sign-in is denied',
  eve: 'has the same email address as anna in north, so the sign-in is denied',
}

export type OAuthExample = {
  readonly tenants: readonly { readonly name: string; readonly address: string; readonly provider: OidcProvider }[]
  /** The `Authorization` header of the admin account. */
  readonly admin: string
  readonly adminUrl: string
  /**
   * The command that shows the solution's log. It contains the admin password if that was generated, and a placeholder
   * otherwise.
   */
  readonly logCommand: string
  readonly stop: () => Promise<void>
}

/**
 * Starts the providers and the host, then uploads the solution and sets its secrets.
 * @param environment the host's variables, with `NORTH_PORT` (default: 4410) and `SOUTH_PORT` (default: 4420). Without
 * `PLATFORM_HOME`, the host's data is in a temporary folder that is removed when the example stops
 */
export async function startOAuthExample(environment: Record<string, string | undefined>): Promise<OAuthExample> {
  await using started = new AsyncDisposableStack()
  const providers = new Map<Tenant, OidcProvider>()
  for (const tenant of TENANTS) {
    const { title, accent, accounts, portName } = tenant
    const port = readPort(environment, portName, tenant.port)
    const provider = await startOidcProvider({ title, accent, accounts, port, showsAccounts: true })
    started.defer(() => provider.stop())
    providers.set(tenant, provider)
  }

  const home = environment.PLATFORM_HOME ?? temporaryFolder(started)
  const password = environment.SERVLET_PASSWORD ?? randomBytes(18).toString('base64url')
  const allowed = [...providers.values()].map(({ hostPort }) => hostPort).join(',')
  const settings = readSettings({
    ...environment,
    PLATFORM_HOME: home,
    SERVLET_PASSWORD: password,
    OAUTH_ALLOWED_HOSTS: [environment.OAUTH_ALLOWED_HOSTS, allowed].filter(Boolean).join(','),
  })
  const log = pino({ level: 'warn', base: null })
  const host = await startHost({ settings, log, version: 'example', terminal: false })
  started.defer(() => host.stop())

  const admin = `Basic ${Buffer.from(`${settings.adminName}:${password}`).toString('base64')}`
  const put = (path: string, type: string, body: Uint8Array | string) => putAt(host.url, admin, path, type, body)
  await put('', 'application/zip', await packSolution(providers, started))
  const place = host.addressOf(SOLUTION)
  for (const [{ secretName }, provider] of providers) {
    const secret = { value: CLIENT_SECRET, hosts: [provider.hostPort] }
    await put(`/secrets/${secretName}`, 'application/json', JSON.stringify(secret))
    await provider.setClient(clientAt(place))
  }

  const everything = started.move()
  return {
    tenants: [...providers].map(([{ name }, provider]) => ({
      name,
      address: `${place}index.html?tenant=${name}`,
      provider,
    })),
    admin,
    adminUrl: host.adminUrl,
    logCommand: `curl -u ${settings.adminName}:${environment.SERVLET_PASSWORD === undefined ? password : 'PASSWORD'} ${host.url}/admin/api/solutions/${SOLUTION}/log`,
    stop: () => everything.disposeAsync(),
  }
}

function readPort(environment: Record<string, string | undefined>, name: string, otherwise: number): number {
  const port = environment[name] ?? String(otherwise)
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new Error(`${name} must be a port from 0 to 65535 (0 for any free port), but is "${port}".`)
  }
  return Number(port)
}

function account(name: string, tenant: string, claims: Record<string, unknown>): ProviderAccount {
  const sub = `${tenant}-${name}`
  return { name, password: `${name}-tries-${tenant}`, sub, claims: { email_verified: true, ...claims } }
}

/** The client's settings for both names of this machine (127.0.0.1 and localhost), because people may type either. */
function clientAt(place: string) {
  const places = [place, place.replace('//127.0.0.1:', '//localhost:')]
  return {
    client_id: SOLUTION,
    client_name: 'Many providers',
    redirect_uris: places.map((one) => `${one}app_oauth/index.html`),
    post_logout_redirect_uris: places.map((one) => `${one}index.html?signed-out`),
    backchannel_logout_uri: `${place}backchannel-logout`,
  }
}

/** Packs the solution. If the environment changes the ports, replaces the providers' URLs in the script. */
async function packSolution(providers: ReadonlyMap<Tenant, OidcProvider>, started: AsyncDisposableStack) {
  const moved = [...providers].filter(([{ port }, { hostPort }]) => hostPort !== `127.0.0.1:${port}`)
  if (moved.length === 0) return packFolder(exampleFolder(SOLUTION))
  const folder = temporaryFolder(started)
  cpSync(exampleFolder(SOLUTION), folder, { recursive: true })
  const file = join(folder, 'modules', 'provider-auth', 'globals.js')
  const script = moved.reduce(
    (text, [{ port }, { issuer }]) => text.replace(`'http://127.0.0.1:${port}'`, `'${issuer}'`),
    readFileSync(file, 'utf8'),
  )
  writeFileSync(file, script)
  return packFolder(folder)
}

function temporaryFolder(started: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-example-'))
  started.defer(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function putAt(url: string, admin: string, path: string, type: string, body: Uint8Array | string) {
  const answer = await fetch(`${url}/admin/api/solutions/${SOLUTION}${path}`, {
    method: 'PUT',
    headers: { authorization: admin, 'content-type': type },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
  if (!answer.ok) throw new Error(`PUT ${SOLUTION}${path} failed with HTTP ${answer.status}: ${await answer.text()}`)
}

function messageOf({ tenants, logCommand }: OAuthExample): string {
  const lines = tenants.flatMap(({ address, provider }) => [
    `  ${address}`,
    ...provider.accounts.map(({ name, password }) => {
      const remark = REMARKS[name]
      return `      account ${name}, password ${password}${remark === undefined ? '' : ` (${remark})`}`
    }),
    '',
  ])
  const why = ['If a sign-in is denied, the solution’s log shows the reason:', '', `  ${logCommand}`, '']
  return ['The example "many-providers" is running. Open:', '', ...lines, ...why, 'Press Ctrl+C to stop it.', ''].join(
    '\n',
  )
}

if (import.meta.main) {
  try {
    const example = await startOAuthExample(process.env)
    process.stdout.write(messageOf(example))
    const stop = () => void example.stop().then(() => process.exit(0))
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop)
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    const hint = code === 'EADDRINUSE' ? '\nSet PORT, ADMIN_PORT, NORTH_PORT or SOUTH_PORT to a free port.' : ''
    process.stderr.write(`${message}${hint}\n`)
    process.exit(1)
  }
}
