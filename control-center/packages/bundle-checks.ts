import { createBundleTurns, UNPACKED } from '../../base/bundles/bundle-turns.ts'
import { createBundleCheck } from '../../base/bundles/check-bundle.ts'
import { type ComparedVersion, compareVersions, type VersionDifference } from '../../base/bundles/compare-versions.ts'
import { usableTrusted } from '../../base/bundles/plugins.ts'
import { pluginsForChecks } from '../../base/bundles/plugins-for-checks.ts'
import { createSandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import type { Bundle } from '../../runtime/bundle/bundle.ts'
import type { Fault, Warning } from '../../runtime/bundle/faults.ts'
import type { Manifest } from '../../runtime/bundle/manifest.ts'
import { readBundle } from '../../runtime/bundle/read-bundle.ts'
import { unpackBundle } from '../../runtime/bundle/unpack-bundle.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { createSupervisor, type Supervisor } from '../../runtime/supervisor.ts'

/** The result of checking a bundle; `bundle` is null if the bundle has errors. */
export type BundleFindings = {
  readonly bundle: Bundle | null
  readonly faults: readonly Fault[]
  readonly warnings: readonly Warning[]
}

/**
 * Reads a stored bundle. Called only when a queued request is processed. Anyone who can see a page can queue many
 * requests, so queued requests must not keep bundles in memory.
 */
export type StoredBundle = () => Promise<Uint8Array>

/**
 * Checks bundles in the same way as a host checks uploads. This process checks the ZIP file and manifests; a sandbox
 * process checks the rest.
 */
export interface BundleChecks {
  /** @throws ERR_MEMORY_FULL, ERR_SANDBOX_BUSY if too many checks are queued */
  check(packed: Uint8Array): Promise<BundleFindings>
  /**
   * The name in the bundle's manifest; '' if it can't be read.
   * @throws the errors of `check`
   */
  nameOf(packed: Uint8Array): Promise<string>
  /**
   * The manifest of a stored bundle; null if it can no longer be read because limits were lowered.
   * @throws the errors of `check`
   */
  manifestOf(stored: StoredBundle): Promise<Manifest | null>
  /**
   * The differences between two stored bundles.
   * @param byLine false: returns only which files differ, which is fast
   * @throws ERR_MEMORY_FULL, ERR_SANDBOX_BUSY; ERR_BUNDLE_REFUSED if limits were lowered since the upload
   */
  compare(from: StoredBundle, to: StoredBundle, byLine: boolean): Promise<VersionDifference>
  /**
   * Checks that there is enough memory for a request body. Call this before reading the body.
   * @throws ERR_MEMORY_FULL
   */
  needRoom(bytes: number): void
  stop(): void
}

/** Used in place of a bundle that has not been read yet and whose size is therefore unknown. */
const NOT_READ = { length: 0 }
/** Time limits for comparing files line by line. With 0 ms, only whole files are compared. */
const NO_TIME = { one: 0, all: 0 }

/**
 * Uses the limits and plugins of a host with default settings. The supervisor always keeps a spare process. It is
 * created only when the first bundle arrives, so a control center without bundles has no extra process.
 * @param memory in bytes, `RUNTIME_XMS` and `RUNTIME_XMX`
 */
export function createBundleChecks(
  limits: Limits,
  memory: { readonly minimum: number; readonly maximum: number },
): BundleChecks {
  const needRoom: Supervisor['needRoom'] = (bytes) => needMade().supervisor.needRoom(bytes)
  const inTurn = createBundleTurns('bundles', needRoom, limits)
  // Use a separate queue for pages, so that viewing them does not delay uploads.
  const turnsToRead = createBundleTurns('bundles', needRoom, limits)
  let created: ReturnType<typeof make> | null = null
  let isStopped = false

  function make() {
    const plugins = pluginsForChecks(limits)
    const makeSandboxSolution = createSandboxSolutionMaker(plugins)
    const trusted = usableTrusted(plugins, makeSandboxSolution, limits)
    const supervisor = createSupervisor({ limits, trusted, timeZone: 'Etc/UTC', memory })
    return { supervisor, check: createBundleCheck({ supervisor, makeSandboxSolution, limits }) }
  }

  function needMade() {
    if (isStopped) throw new PlatformError('ERR_STOPPING', 'The control center is stopping. Try again in a moment.')
    created ??= make()
    return created
  }

  async function checkNow(packed: Uint8Array): Promise<BundleFindings> {
    const read = await readBundle(packed, limits)
    if (read.bundle === null) return read
    const checked = await needMade().check(read.bundle)
    return {
      bundle: checked.prepared === null ? null : read.bundle,
      faults: checked.faults,
      warnings: [...read.warnings, ...checked.warnings],
    }
  }

  /** Checks that there is enough memory to unpack all the bundles at the same time. */
  function needRoomFor(...bundles: readonly Uint8Array[]): void {
    const bytes = bundles.map(({ length }) => Math.min(length * UNPACKED, limits.BUNDLE_UNPACKED))
    needRoom(bytes.reduce((sum, one) => sum + one, 0))
  }

  async function readVersion(packed: Uint8Array): Promise<ComparedVersion> {
    const { bundle, faults } = await readBundle(packed, limits)
    if (bundle !== null) return { manifest: bundle.manifest, files: await unpackBundle(packed, limits) }
    const message =
      'The stored bundle exceeds the limits of this control center. Raise the limits named in the errors, or upload a smaller bundle.'
    throw new PlatformError('ERR_BUNDLE_REFUSED', message, { faults })
  }

  return {
    check: (packed) => inTurn(packed, () => checkNow(packed)),
    nameOf: (packed) => inTurn(packed, async () => (await readBundle(packed, limits)).bundle?.manifest.name ?? ''),
    manifestOf: (stored) =>
      turnsToRead(NOT_READ, async () => {
        const packed = await stored()
        needRoomFor(packed)
        return (await readBundle(packed, limits)).bundle?.manifest ?? null
      }),
    compare: (from, to, byLine) =>
      turnsToRead(NOT_READ, async () => {
        const [older, newer] = await Promise.all([from(), to()])
        needRoomFor(older, newer)
        return compareVersions(await readVersion(older), await readVersion(newer), byLine ? undefined : NO_TIME)
      }),
    needRoom,
    stop() {
      isStopped = true
      created?.supervisor.stop()
    },
  }
}
