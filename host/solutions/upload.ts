import { hash } from 'node:crypto'
import { createBundleTurns } from '../../base/bundles/bundle-turns.ts'
import { type CheckedBundle, createBundleCheck } from '../../base/bundles/check-bundle.ts'
import type { SandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import type { Bundle } from '../../runtime/bundle/bundle.ts'
import type { Fault, Warning } from '../../runtime/bundle/faults.ts'
import { MANIFEST } from '../../runtime/bundle/layout.ts'
import { type BundleReading, readBundle } from '../../runtime/bundle/read-bundle.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Catalog } from './catalog.ts'
import { warnOfEmbedded } from './embedded-warning.ts'
import { createPrecedence, type Precedence } from './precedence.ts'
import { createQueue } from './queue.ts'
import type { ExpectedActive, SolutionStore } from './solution-store.ts'

export type Uploaded = {
  readonly name: string
  readonly version: string
  readonly sha256: string
  readonly active: boolean
  readonly warnings: readonly Warning[]
  /** False if the same bundle was already stored. */
  readonly isNew: boolean
}

/** The result of `check`. `prepared` is null if there are errors. */
export type CheckedUpload = CheckedBundle & { readonly sha256: string }

export interface Uploads {
  /**
   * Checks a bundle as an upload does, but does not store it. Waits while uploads are running, because they have
   * precedence.
   * @param expectedName the name under which the solution would be uploaded
   * @throws ERR_MEMORY_FULL, ERR_SANDBOX_BUSY
   */
  check(packed: Uint8Array, expectedName: string): Promise<CheckedUpload>
  /**
   * Reads, checks and activates a bundle. The host reads only the ZIP file's structure and the manifests; everything
   * else is checked in a separate sandbox process. The version is activated only after its scripts have been compiled
   * and loaded there.
   * @param expectedName the name in the URL
   * @param expected the version that the sender wants to replace
   * @throws ERR_BUNDLE_TOO_LARGE, ERR_NAME_DIFFERS, ERR_BUNDLE_REFUSED (with every error in `details.faults`),
   *   ERR_MEMORY_FULL, ERR_SANDBOX_BUSY if too many uploads are queued, ERR_CHANGED_MEANWHILE if the active version is
   *   not `expected`
   */
  upload(packed: Uint8Array, expectedName: string, expected?: ExpectedActive): Promise<Uploaded>
  /**
   * Does the same as `upload`, but uses the name in the bundle's manifest.
   * @param onName called with this name before the bundle is checked
   */
  uploadByManifest(packed: Uint8Array, onName: (name: string) => void): Promise<Uploaded>
  /** Switches or rolls back to a stored version. @throws ERR_SOLUTION_NOT_FOUND, ERR_VERSION_NOT_FOUND */
  activate(name: string, sha256: string): Promise<void>
  /** Erases a version. @throws ERR_SOLUTION_NOT_FOUND, ERR_VERSION_NOT_FOUND, ERR_VERSION_ACTIVE, ERR_VERSION_IN_USE */
  removeVersion(name: string, sha256: string): Promise<void>
  /** @throws ERR_SOLUTION_NOT_FOUND */
  remove(name: string): Promise<void>
}

export type UploadParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly supervisor: Supervisor
  readonly makeSandboxSolution: SandboxSolutionMaker
  readonly limits: Limits
  /** Whether a solution's manifest may require passkeys; by default, every manifest may. */
  readonly takesPasskeys?: (solution: string) => Promise<boolean>
  /** Whether several hosts may use the platform's database. Default: false. */
  readonly mayHaveSeveralHosts?: boolean
}

/** A bundle whose ZIP file and manifests are valid. */
type SoundBundle = { readonly bundle: Bundle; readonly warnings: readonly Warning[] }

export function createUploads({
  store,
  catalog,
  supervisor,
  makeSandboxSolution,
  limits,
  takesPasskeys,
  mayHaveSeveralHosts = false,
}: UploadParts): Uploads {
  const check = createBundleCheck({ supervisor, makeSandboxSolution, limits })
  const readAny = createReader({ limits, takesPasskeys, mayHaveSeveralHosts })
  const oneAtATime = createQueue()
  const inTurn = createBundleTurns('uploads', supervisor.needRoom, limits)
  const uploading = createPrecedence()

  async function upload(packed: Uint8Array, expectedName: string, expected?: ExpectedActive): Promise<Uploaded> {
    // Checking a bundle takes seconds, so find out first whether it can be activated at all.
    if (expected !== undefined && (await store.activeSha256(expectedName)) !== expected)
      throw await changedMeanwhile(expectedName)
    return uploading.first(() => inTurn(packed, () => readAndTake(packed, expectedName, expected)))
  }

  async function readAndTake(packed: Uint8Array, expectedName: string, expected: ExpectedActive): Promise<Uploaded> {
    const read = sound(await readAny(packed))
    const { name } = read.bundle.manifest
    if (name !== expectedName) {
      throw new PlatformError(
        'ERR_NAME_DIFFERS',
        `The bundle’s manifest has the name "${name}". Upload the bundle to /admin/api/solutions/${name}, or change "name" in solution.json to "${expectedName}".`,
      )
    }
    return take(packed, read, expected)
  }

  async function uploadByManifest(packed: Uint8Array, onName: (name: string) => void): Promise<Uploaded> {
    const { name } = await uploading.first(() =>
      inTurn(packed, async () => sound(await readAny(packed)).bundle.manifest),
    )
    onName(name)
    // Read the bundle again when it is processed. While it is queued, only the uploaded bytes are in memory.
    return oneAtATime(name, () => upload(packed, name))
  }

  async function take(
    packed: Uint8Array,
    { bundle, warnings }: SoundBundle,
    expected: ExpectedActive,
  ): Promise<Uploaded> {
    const { name, version } = bundle.manifest
    const { sha256 } = bundle
    const before = await store.get(name)
    const kept = await store.prepared(name, sha256)
    if (kept?.isCurrent) {
      if (before?.active !== sha256 && !(await store.activate(name, sha256, expected)))
        throw await changedMeanwhile(name)
      catalog.changed(name)
      return { name, version, sha256, active: true, warnings: kept.prepared.warnings ?? warnings, isNew: false }
    }
    const checked = await check(bundle)
    const allWarnings = [...warnings, ...checked.warnings]
    if (checked.prepared === null) throw refused(checked.faults, allWarnings)
    const prepared = { ...checked.prepared, warnings: allWarnings }
    // `add` does not change an existing version. So first replace its prepared data, which may be from an older host.
    if (kept !== null) await store.renew(name, sha256, prepared)
    if (!(await store.add(bundle, packed, prepared, expected))) throw await changedMeanwhile(name)
    catalog.changed(name)
    return { name, version, sha256, active: true, warnings: allWarnings, isNew: kept === null }
  }

  /** The error's details show which version replaced the expected one. */
  async function changedMeanwhile(name: string): Promise<PlatformError> {
    const active = await store.activeSha256(name)
    const found = (await store.versions(name)).find(({ sha256 }) => sha256 === active)
    const [now, version] =
      found === undefined
        ? ['No version is active now', null]
        : [`Version ${found.version} is active now`, found.version]
    return new PlatformError(
      'ERR_CHANGED_MEANWHILE',
      `Nothing was changed, because the active version is not the one you expected. ${now}. Check the active version, then upload again.`,
      {
        name,
        active,
        version,
      },
    )
  }

  async function activate(name: string, sha256: string): Promise<void> {
    if ((await store.get(name)) === null) throw solutionNotFound(name)
    if (!(await store.hasVersion(name, sha256))) throw versionNotFound(name, sha256)
    await store.activate(name, sha256)
    catalog.changed(name)
  }

  async function removeVersion(name: string, sha256: string): Promise<void> {
    if ((await store.get(name)) === null) throw solutionNotFound(name)
    if (await store.removeVersion(name, sha256)) return
    if (!(await store.hasVersion(name, sha256))) throw versionNotFound(name, sha256)
    const drafts = await store.draftsOf(name, sha256)
    if (drafts > 0 && (await store.activeSha256(name)) !== sha256) {
      const those = drafts === 1 ? 'a draft' : `${drafts} drafts`
      const message = `Version ${sha256} is the base of ${those} in the workbench. Publish or discard the draft${drafts === 1 ? '' : 's'} first.`
      throw new PlatformError('ERR_VERSION_IN_USE', message, { name, sha256, drafts })
    }
    throw new PlatformError(
      'ERR_VERSION_ACTIVE',
      `Version ${sha256} of "${name}" is active. Activate another version first.`,
      { name, sha256 },
    )
  }

  async function remove(name: string): Promise<void> {
    if (!(await store.remove(name))) throw solutionNotFound(name)
    catalog.changed(name)
  }

  return {
    check: createUploadCheck({ supervisor, limits, uploading, readAny, check }),
    uploadByManifest,
    upload: (packed, expectedName, expected) => oneAtATime(expectedName, () => upload(packed, expectedName, expected)),
    removeVersion: (name, sha256) => oneAtATime(name, () => removeVersion(name, sha256)),
    activate: (name, sha256) => oneAtATime(name, () => activate(name, sha256)),
    remove: (name) => oneAtATime(name, () => remove(name)),
  }
}

type ReadBundle = (packed: Uint8Array) => Promise<BundleReading>

/**
 * Creates a function that reads a bundle's ZIP file and manifests. It also adds the warnings that depend on this host.
 */
function createReader({
  limits,
  takesPasskeys,
  mayHaveSeveralHosts,
}: {
  readonly limits: Limits
  readonly takesPasskeys: UploadParts['takesPasskeys'] | undefined
  readonly mayHaveSeveralHosts: boolean
}): ReadBundle {
  return async (packed) => {
    const read = await readBundle(packed, limits, takesPasskeys)
    if (read.bundle === null || !mayHaveSeveralHosts) return read
    return { ...read, warnings: [...read.warnings, ...warnOfEmbedded(read.bundle)] }
  }
}

function sound({ bundle, faults, warnings }: BundleReading): SoundBundle {
  if (bundle === null) throw refused(faults, warnings)
  return { bundle, warnings }
}

type UploadCheckParts = Pick<UploadParts, 'supervisor' | 'limits'> & {
  readonly uploading: Precedence
  readonly readAny: ReadBundle
  readonly check: ReturnType<typeof createBundleCheck>
}

function createUploadCheck(parts: UploadCheckParts): Uploads['check'] {
  const { supervisor, limits, uploading, readAny, check } = parts
  const inTurn = createBundleTurns('bundles', supervisor.needRoom, limits)
  return (packed, expectedName) =>
    inTurn(packed, async () => {
      await uploading.over()
      const { bundle, faults, warnings } = await readAny(packed)
      const sha256 = bundle?.sha256 ?? hash('sha256', packed, 'hex')
      if (bundle === null) return { prepared: null, faults, warnings, sha256 }
      if (bundle.manifest.name !== expectedName) {
        const message = `"name" must be "${expectedName}", the name of the solution that you are editing`
        const fault = { file: MANIFEST, code: 'manifest_invalid', message } as const
        return { prepared: null, faults: [fault], warnings, sha256 }
      }
      const checked = await check(bundle)
      return { ...checked, warnings: [...warnings, ...checked.warnings], sha256 }
    })
}

function solutionNotFound(name: string): PlatformError {
  return new PlatformError('ERR_SOLUTION_NOT_FOUND', `There is no solution "${name}".`, { name })
}

export function refused(faults: readonly Fault[], warnings: readonly Warning[]): PlatformError {
  const tooLarge = faults.every(({ code }) => code === 'too_large' || code === 'too_many_files')
  const count = faults.length === 1 ? 'one error' : `${faults.length} errors`
  return new PlatformError(
    tooLarge ? 'ERR_BUNDLE_TOO_LARGE' : 'ERR_BUNDLE_REFUSED',
    `The bundle was rejected because it has ${count}. The active version is unchanged.`,
    { faults, warnings },
  )
}
