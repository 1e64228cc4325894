import { type ActiveSolution, activeSolution, versionKey } from '../../base/bundles/active-solution.ts'
import type { SandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import { answeredWithin } from '../../base/database/answered-within.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { SolutionStore, SolutionSummary } from './solution-store.ts'

/** A cached version. `checkedAt` is when the database last confirmed that it is active, in epoch ms. */
type Kept = { readonly solution: ActiveSolution; readonly size: number; readonly checkedAt: number }

/** A cache of active solution versions. Uploads invalidate its entries with `changed`. */
export interface Catalog {
  /** The active version, or null if the solution does not exist or has no active version. */
  active(name: string): Promise<ActiveSolution | null>
  /** @throws ERR_SOLUTION_NOT_FOUND */
  need(name: string): Promise<ActiveSolution>
  /** Must be called after each change to a solution. Open calls continue with their version until they end. */
  changed(name: string): void
}

/** Cache time in ms. It is short, because another host may have activated another version. */
const BELIEVED = 500
/** Timeout in ms for checking the active version in the database. It is short, because the login page waits for it. */
const PATIENCE = 2000
/**
 * Maximum size of cached solutions, in characters of their JSON. Solutions that are evicted from the cache remain in
 * the database.
 */
const KEPT_SIZE = 64 * 1024 ** 2

export function createCatalog(
  store: SolutionStore,
  supervisor: Pick<Supervisor, 'retire'>,
  makeSandboxSolution: SandboxSolutionMaker,
  now: () => number = Date.now,
): Catalog {
  /** Least recently used first. */
  const kept = new Map<string, Kept>()
  let keptSize = 0
  /**
   * Loads in progress, shared by waiting requests. `changed` removes the solution's entry, so the next request loads it
   * again.
   */
  const loading = new Map<string, Promise<ActiveSolution | null>>()

  function load(name: string): Promise<ActiveSolution | null> {
    const running = loading.get(name)
    if (running !== undefined) return running
    const started = read(name).then((found) => {
      // If `changed` was called in the meantime, the result may be outdated. Waiting callers still get it, but don't
      // cache it.
      if (loading.get(name) === started) {
        loading.delete(name)
        if (found !== null) keep(found)
      }
      return found?.solution ?? null
    })
    started.catch(() => loading.get(name) === started && loading.delete(name))
    loading.set(name, started)
    return started
  }

  async function read(name: string): Promise<Kept | null> {
    const summary = await store.get(name)
    const sha256 = summary?.active ?? null
    const found = sha256 === null ? null : await store.prepared(name, sha256)
    if (sha256 === null || found === null) return null
    return { solution: activeSolution(sha256, found.prepared, makeSandboxSolution), size: found.size, checkedAt: now() }
  }

  async function isStillActive(one: Kept): Promise<boolean> {
    const { name, facts } = one.solution
    if ((await activeSha256(name, facts.sha256)) !== facts.sha256) return false
    // `changed` may have removed the entry in the meantime.
    if (kept.get(name) === one) keep({ ...one, checkedAt: now() })
    return true
  }

  /**
   * While the database is down, use the last known active version, so that the solution's pages can at least show that
   * sign-in is unavailable.
   */
  async function activeSha256(name: string, last: string): Promise<string | null> {
    try {
      return await answeredWithin(PATIENCE, store.activeSha256(name))
    } catch (error) {
      if (error instanceof PlatformError && error.code === 'ERR_DATABASE_UNREACHABLE') return last
      throw error
    }
  }

  function keep(one: Kept): void {
    drop(one.solution.name)
    kept.set(one.solution.name, one)
    keptSize += one.size
    for (const oldest of kept.keys()) {
      if (keptSize <= KEPT_SIZE || kept.size === 1) break
      drop(oldest)
    }
  }

  function drop(name: string): void {
    keptSize -= kept.get(name)?.size ?? 0
    kept.delete(name)
  }

  const catalog: Catalog = {
    async active(name) {
      const found = kept.get(name)
      if (found === undefined) return load(name)
      // If the clock was set back, the version would be cached for too long.
      if (found.checkedAt <= now() && found.checkedAt + BELIEVED > now()) {
        keep(found)
        return found.solution
      }
      if (await isStillActive(found)) return found.solution
      catalog.changed(name)
      return load(name)
    },
    async need(name) {
      const solution = await catalog.active(name)
      if (solution !== null) return solution
      throw new PlatformError('ERR_SOLUTION_NOT_FOUND', `There is no solution "${name}".`, { name })
    },
    changed(name) {
      const before = kept.get(name)
      drop(name)
      loading.delete(name)
      if (before) supervisor.retire(before.solution.loadable.key)
    },
  }
  return catalog
}

/** When a quarantined solution may run again, in epoch ms; null if the solution is not quarantined. */
export function retryAtOf(
  supervisor: Pick<Supervisor, 'retryAt'>,
  { name, active }: Pick<SolutionSummary, 'name' | 'active'>,
): number | null {
  return active === null ? null : supervisor.retryAt(versionKey(name, active))
}
