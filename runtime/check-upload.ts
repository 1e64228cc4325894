import type { Fault } from './bundle/faults.ts'
import type { LimitName, Limits } from './limits.ts'
import type { CheckedFiles, FromSandbox, SandboxSolution, Unit, UploadFiles } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import { DEADLINE_GRACE } from './served-call.ts'

/** The results from the upload's sandbox process. */
export type UploadCheck = {
  readonly checked: CheckedFiles | null
  readonly faults: readonly Fault[]
  /** The entry functions that exist, by unit; empty if loading failed. */
  readonly found: ReadonlyMap<Unit, readonly string[]>
}

/** Used in error messages if it is unknown which file failed to load. */
const SCRIPTS_OF: Readonly<Record<Unit, string>> = {
  authenticator: 'the authenticator’s scripts',
  main: 'the solution’s scripts',
  configuration: 'the scripts for getOAuthConfig',
}

export type Probe = {
  readonly unit: Unit
  readonly entries: readonly string[]
  /** Whether the unit is loaded as for an endpoint, without forms. */
  readonly isForRequests?: boolean
  /** Whether to load the unit, given the results of earlier probes. Default: always. */
  readonly isNeeded?: (found: ReadonlyMap<Unit, readonly string[]>) => boolean
}

/**
 * Checks one upload in its own process. Scripts are loaded only if the files have no errors. The caller ends the
 * process.
 */
export async function checkUpload(
  process: SandboxProcess,
  files: UploadFiles,
  prepare: (checked: CheckedFiles) => Promise<SandboxSolution>,
  probes: readonly Probe[],
  limits: Limits,
): Promise<UploadCheck> {
  // The process sends back the stripped scripts and tables in one JSON-escaped frame.
  process.allowLargeFrames(2 * limits.BUNDLE_UNPACKED + 1024 ** 2)
  const ask = conversation(process)
  const time = limits.UPLOAD_CHECK_TIME
  const first = await ask({ kind: 'check', files }, 'checked', time)
  if (typeof first === 'string')
    return refusedCheck(lostFault(first, 'the bundle’s files', 'UPLOAD_CHECK_TIME', limits))
  const { checked } = first
  const found = new Map<Unit, readonly string[]>()
  if (checked.faults.length > 0) return { checked, faults: checked.faults, found }
  const loaded = await ask({ kind: 'load', solution: await prepare(checked) }, 'loaded', time)
  if (typeof loaded === 'string')
    return { checked, faults: [lostFault(loaded, 'the scripts', 'UPLOAD_CHECK_TIME', limits)], found }
  const faults: Fault[] = [...loaded.faults]
  for (const [index, { isNeeded, ...probe }] of probes.entries()) {
    if (faults.length > 0) break
    if (isNeeded?.(found) === false) continue
    // Probing a client takes longer, because its context is created from scratch. The process itself limits the time of
    // the scripts and reports if they exceed it.
    const probeTime = probe.unit === 'main' && probe.isForRequests !== true ? time : limits.LOAD_TIME + DEADLINE_GRACE
    let file = ''
    const probed = await ask({ kind: 'probe', id: index, ...probe }, 'probed', probeTime, (name) => {
      file = name
    })
    const what = file === '' ? SCRIPTS_OF[probe.unit] : 'the script'
    if (typeof probed === 'string') faults.push({ ...lostFault(probed, what, 'LOAD_TIME', limits), file })
    else {
      faults.push(...probed.faults)
      found.set(probe.unit, [...(found.get(probe.unit) ?? []), ...probed.found])
    }
  }
  return { checked, faults, found }
}

export function refusedCheck(fault: Fault): UploadCheck {
  return { checked: null, faults: [fault], found: new Map() }
}

function lostFault(why: 'timeout' | 'ended', what: string, limit: LimitName, limits: Limits): Fault {
  if (why === 'timeout') {
    const message = `${what} could not be loaded within ${limits[limit]} ms (${limit})`
    return { code: 'script_timeout', file: '', message }
  }
  return { code: 'script_crashed', file: '', message: `loading ${what} crashed the sandbox process` }
}

/**
 * Sends messages one at a time, and tracks which file is loading meanwhile. Unexpected kinds of responses are ignored,
 * except `hung`, which is treated as a timeout.
 */
function conversation(process: SandboxProcess) {
  return <Kind extends FromSandbox['kind']>(
    message: Parameters<SandboxProcess['send']>[0],
    expected: Kind,
    time: number,
    loading: (file: string) => void = () => {},
  ): Promise<Extract<FromSandbox, { kind: Kind }> | 'timeout' | 'ended'> =>
    new Promise((resolve) => {
      if (process.ended()) return resolve('ended')
      const timer = setTimeout(() => resolve('timeout'), time)
      process.onEnd = () => {
        clearTimeout(timer)
        resolve('ended')
      }
      process.onMessage = (answer) => {
        if (answer.kind === 'loading') loading(answer.file)
        if (answer.kind !== expected && answer.kind !== 'hung') return
        clearTimeout(timer)
        if (answer.kind === 'hung') resolve('timeout')
        else resolve(answer as Extract<FromSandbox, { kind: Kind }>)
      }
      process.send(message)
    })
}
