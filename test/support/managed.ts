import { createHash } from 'node:crypto'
import type { TestCenter } from './center.ts'
import { startTestHost, type TestHost } from './host.ts'
import { bundleOf, type Files } from './zip.ts'

/** Starts a host as a Satellite of this control center. */
export function startSatellite(
  center: { readonly url: string },
  token: string,
  properties: Record<string, string> = {},
  options: { readonly home?: string } = {},
): Promise<TestHost> {
  return startTestHost(
    { ENVIRONMENT: 'onprem', CLOUD_URL: center.url, REMOTE_ENVIRONMENT_TOKEN: token, ...NO_TELEMETRY, ...properties },
    options,
  )
}

/** Sends telemetry to a port that nothing listens on. The tests with these hosts don't need it. */
const NO_TELEMETRY = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }

export type TestVersion = { readonly sha256: string; readonly bundle: Buffer; readonly version: string }

/** Creates a bundle for this version of the solution `crm`. The solution needs no sign-in. */
export async function versionOf(version: string, files: Files = {}): Promise<TestVersion> {
  const bundle = await bundleOf({ version, authenticator: 'NONE' }, files)
  return { bundle, version, sha256: createHash('sha256').update(bundle).digest('hex') }
}

/** Uploads the version to the packages of the organisation `acme`. */
export async function addPackage(center: TestCenter, version: TestVersion): Promise<void> {
  const owner = await center.tokenOf('owner')
  const answer = await fetch(`${center.url}/api/organisations/acme/packages/crm`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${owner}`, 'content-type': 'application/zip' },
    body: new Uint8Array(version.bundle),
  })
  if (!answer.ok) throw new Error(`the package was answered ${answer.status}: ${await answer.text()}`)
}

/** Returns the version number of the solution `crm` that is active on a host, or null if there is none. */
export async function activeOf(host: TestHost): Promise<string | null> {
  const answer = await fetch(`${host.url}/admin/api/solutions/crm`, { headers: { authorization: host.admin } })
  if (answer.status === 404) return null
  const { active, versions } = (await answer.json()) as {
    active: string | null
    versions: { sha256: string; version: string }[]
  }
  return versions.find(({ sha256 }) => sha256 === active)?.version ?? null
}

export type ShownCloud = {
  readonly state: string
  readonly number: number | null
  readonly failed: readonly { readonly name: string; readonly message: string }[]
  readonly refused: string | null
}

/** Reads the state of the connection to the control center from a host's health report. */
export async function cloudOf(host: TestHost): Promise<ShownCloud> {
  const answer = await fetch(`${host.url}/admin/api/health`, { headers: { authorization: host.admin } })
  return ((await answer.json()) as { cloud: ShownCloud }).cloud
}
