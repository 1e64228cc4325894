import { type Explained, explainFindings } from '../../base/bundles/explain-findings.ts'
import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import type { Fault, Warning } from '../../runtime/bundle/faults.ts'
import { refused, type Uploads } from '../solutions/upload.ts'
import { bundleOfDraft, type DraftBundleParts } from './draft-bundle.ts'
import type { DraftOf } from './edit-draft.ts'

export type DraftCheck = {
  readonly revision: number
  /** The SHA-256 of the draft's bundle. */
  readonly sha256: string
  readonly faults: readonly Explained<Fault>[]
  readonly warnings: readonly Explained<Warning>[]
}

export type PreparedDraft = {
  readonly prepared: PreparedSolution
  readonly packed: Uint8Array
  readonly sha256: string
  readonly revision: number
}

/** Checks drafts with the code that checks uploads. */
export interface DraftChecks {
  /** Requests that arrive during a check share the next one, which includes the newest files. */
  check(of: DraftOf): Promise<DraftCheck>
  /**
   * Prepares the draft to run, as an upload would. The result is cached until the draft changes.
   * @throws ERR_BUNDLE_REFUSED with the draft's errors
   */
  prepare(of: DraftOf): Promise<PreparedDraft>
}

export type DraftCheckParts = DraftBundleParts & { readonly uploads: Pick<Uploads, 'check'> }

type Checked = { readonly shown: DraftCheck; readonly prepared: PreparedDraft | null }
type Turn = { readonly running: Promise<Checked>; waiting: Promise<Checked> | null }

/**
 * Maximum number of cached drafts. A prepared draft can use megabytes of memory, and few people edit at the same time.
 */
const CACHED = 8

export function createDraftChecks(parts: DraftCheckParts): DraftChecks {
  const turns = new Map<string, Turn>()
  /** Cached drafts, least recently used first. */
  const cache = new Map<string, PreparedDraft>()

  async function checkNow(of: DraftOf): Promise<Checked> {
    const { draft, files, packed, sha256 } = await bundleOfDraft(of, parts)
    const { prepared, faults, warnings } = await parts.uploads.check(packed, of.solution)
    const { revision } = draft
    const ready = prepared === null ? null : { prepared: { ...prepared, warnings }, packed, sha256, revision }
    keep(of.id, ready)
    const shown = { faults: explainFindings(faults, files), warnings: explainFindings(warnings, files) }
    return { shown: { revision, sha256, ...shown }, prepared: ready }
  }

  function keep(id: string, ready: PreparedDraft | null): void {
    cache.delete(id)
    if (ready !== null) cache.set(id, ready)
    for (const oldest of cache.keys()) if (cache.size > CACHED) cache.delete(oldest)
  }

  async function inTurn(of: DraftOf, before: Promise<unknown> | undefined): Promise<Checked> {
    if (before !== undefined) await before.catch(() => {})
    const running = checkNow(of)
    const turn: Turn = { running, waiting: null }
    turns.set(of.id, turn)
    try {
      return await running
    } finally {
      if (turns.get(of.id) === turn && turn.waiting === null) turns.delete(of.id)
    }
  }

  function newest(of: DraftOf): Promise<Checked> {
    const turn = turns.get(of.id)
    if (turn === undefined) return inTurn(of, undefined)
    turn.waiting ??= inTurn(of, turn.running)
    return turn.waiting
  }

  return {
    check: async (of) => (await newest(of)).shown,
    async prepare(of) {
      const cached = cache.get(of.id)
      const { revision } = await parts.drafts.need(of.solution, of.id)
      if (cached?.revision === revision) {
        keep(of.id, cached)
        return cached
      }
      const { prepared, shown } = await newest(of)
      if (prepared !== null) return prepared
      throw refused(shown.faults, shown.warnings)
    },
  }
}
