import { createHash } from 'node:crypto'
import { versionTarget } from '../../../base/api/targets.ts'
import { statusOf } from '../../../base/http/errors.ts'
import type { DesiredState, SolutionResult } from '../../../base/protocol/protocol.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import type { Limits } from '../../../runtime/limits.ts'
import type { Audit } from '../../access/audit.ts'
import type { SolutionStore } from '../../solutions/solution-store.ts'
import type { Uploads } from '../../solutions/upload.ts'
import type { AskCloud } from './cloud-requests.ts'

export type ApplyParts = {
  readonly ask: AskCloud
  readonly uploads: Pick<Uploads, 'upload' | 'activate'>
  readonly store: Pick<SolutionStore, 'get' | 'hasVersion'>
  readonly audit: Pick<Audit, 'record'>
  readonly limits: Pick<Limits, 'BUNDLE_SIZE'>
  /** The control center's host name, for the audit log. */
  readonly host: string
}

/**
 * The result of applying a desired state. `later` means that something is temporarily unavailable; `why` is the reason.
 * Everything is retried after at least `wait` ms.
 */
export type Applied = { readonly kind: 'done'; readonly results: readonly SolutionResult[] } | Later
type Later = { readonly kind: 'later'; readonly why: string; readonly wait: number | null }
type One = { readonly kind: 'one'; readonly result: SolutionResult } | Later

/** Timeout for downloading a bundle, in ms. When it expires, the bundle is requested again. */
const BUNDLE_TIME = 5 * 60_000
const MOST_FAULTS = 50

/**
 * Activates the versions in a desired state. Each is first checked and loaded, like an upload. If a version is
 * rejected, its solution keeps its active version, and the other solutions are still processed.
 * @param postponed the solutions that must be retried. They are processed last, so that they don't block the others
 */
export async function applySolutions(
  state: DesiredState,
  parts: ApplyParts,
  signal: AbortSignal,
  postponed: Set<string>,
): Promise<Applied> {
  const results: SolutionResult[] = []
  const names = Object.keys(state.solutions).sort()
  for (const name of names.toSorted((a, b) => Number(postponed.has(a)) - Number(postponed.has(b)))) {
    const sha256 = state.solutions[name]?.sha256 as string
    const one = await applyOne(name, sha256, parts, signal)
    if (one.kind === 'later') {
      postponed.add(name)
      return one
    }
    postponed.delete(name)
    results.push(one.result)
  }
  return { kind: 'done', results }
}

async function applyOne(name: string, sha256: string, parts: ApplyParts, signal: AbortSignal): Promise<One> {
  const { uploads, store, audit, host } = parts
  const done: One = { kind: 'one', result: { name, sha256, outcome: 'active' } }
  const failed = (why: Refusal): One => ({ kind: 'one', result: { name, sha256, outcome: 'failed', ...why } })
  if ((await store.get(name))?.active === sha256) return done
  const record = (outcome: string, isNew: boolean) =>
    audit.record({
      actor: 'control-center',
      action: isNew ? 'solution-upload' : 'solution-activate',
      target: versionTarget(sha256),
      solution: name,
      outcome,
      address: host,
    })
  const isThere = await store.hasVersion(name, sha256)
  try {
    if (isThere) await uploads.activate(name, sha256)
    else {
      const bundle = await fetchBundle(sha256, parts, signal)
      if (bundle.kind === 'later') return bundle
      if (bundle.kind === 'refused') {
        await record('refused', true)
        return failed(bundle.why)
      }
      await uploads.upload(bundle.bytes, name)
    }
    await record('ok', !isThere)
    return done
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    // These errors are temporary: the disk is full, or the host is busy or stopping.
    if (statusOf(error) >= 500) return { kind: 'later', why: `"${name}": ${error.message}`, wait: null }
    await record(error.code, !isThere)
    return failed(reasonOf(error))
  }
}

type Refusal = Pick<SolutionResult, 'code' | 'message' | 'faults'>

function reasonOf({ code, message, details }: PlatformError): Refusal {
  const faults = Array.isArray(details.faults) ? details.faults.slice(0, MOST_FAULTS) : []
  return {
    code,
    message: message.slice(0, 2000),
    ...(faults.length === 0 ? {} : { faults: faults.map(shortFault) }),
  }
}

/** Errors may quote scripts, so truncate each text. Otherwise, the report could be rejected as too long. */
function shortFault(fault: { message?: unknown; file?: unknown; line?: unknown; column?: unknown }) {
  const { message, file, line, column } = fault
  return {
    message: String(message).slice(0, 1000),
    ...(typeof file === 'string' ? { file: file.slice(0, 300) } : {}),
    ...(typeof line === 'number' ? { line } : {}),
    ...(typeof column === 'number' ? { column } : {}),
  }
}

type Fetched =
  | { readonly kind: 'bundle'; readonly bytes: Uint8Array }
  | { readonly kind: 'refused'; readonly why: Refusal }
  | Later

/** Downloads a bundle. Nothing may parse it before its SHA-256 has been compared with the one in the statement. */
async function fetchBundle(sha256: string, { ask, limits }: ApplyParts, signal: AbortSignal): Promise<Fetched> {
  const maxBytes = limits.BUNDLE_SIZE
  const answer = await ask({ method: 'GET', path: `bundles/${sha256}`, maxBytes, timeout: BUNDLE_TIME, signal })
  if (answer.kind === 'away') return { kind: 'later', why: answer.why, wait: answer.wait }
  if (answer.kind === 'barred')
    return { kind: 'later', why: `the control center returned HTTP ${answer.status}`, wait: null }
  if (answer.kind === 'too-large') {
    const message = `The bundle is larger than ${maxBytes} bytes. Raise BUNDLE_SIZE on this Satellite, or upload a smaller bundle.`
    return { kind: 'refused', why: { code: 'ERR_BUNDLE_TOO_LARGE', message } }
  }
  if (answer.status !== 200) {
    const message = `Cannot download the bundle: the control center returned HTTP ${answer.status}. Check that the version still exists in the control center.`
    return { kind: 'refused', why: { code: 'ERR_NOT_FOUND', message } }
  }
  if (createHash('sha256').update(answer.body).digest('hex') === sha256) return { kind: 'bundle', bytes: answer.body }
  const message =
    'The SHA-256 of the downloaded bundle does not match the signed desired state. Upload the bundle to the control center again.'
  return { kind: 'refused', why: { code: 'ERR_BUNDLE_ALTERED', message } }
}
