import { createHash } from 'node:crypto'
import type { DesignedPage } from '../../../base/bundles/login-page.ts'
import { finishesWithin } from '../../../base/program/in-time.ts'
import type { LoginPageAnswer } from '../../../base/protocol/protocol.ts'
import type { SolutionLog } from '../../solutions/solution-log.ts'
import type { PageCompiler } from './compile-page.ts'
import type { CloudLoginRequests } from './login-requests.ts'
import type { KeptPage, PageRows } from './page-rows.ts'
import type { CloudLoginProblems } from './problems.ts'

export interface CloudLoginPages {
  /** @returns null if there is no usable page; never throws */
  of(solution: string): Promise<DesignedPage | null>
  /** Resolves when no request is in progress. */
  settled(): Promise<void>
}

export type CloudLoginPagesParts = {
  readonly requests: Pick<CloudLoginRequests, 'loginPage'>
  readonly compile: PageCompiler
  readonly rows: PageRows
  readonly problems: CloudLoginProblems
  readonly solutionLog: Pick<SolutionLog, 'write'>
  /**
   * Identifies the control center and environment. An ETag is valid only for the control center and environment that
   * sent it.
   */
  readonly source: string
  /** Aborted when the host stops. Results of pending requests are then ignored. */
  readonly stopped: AbortSignal
  /** Returns the current time, in epoch ms. */
  readonly now: () => number
}

/** A solution's page that is cached in this host's memory. */
type Held = {
  readonly page: DesignedPage | null
  /** SHA-256 of the page's source; null if there is no page. */
  readonly digest: string | null
  readonly tag: string | null
  /** The ETag of a page that was rejected, so that it is not fetched and compiled again. */
  readonly refusedTag: string | null
  readonly checkedAt: number
}

type Asking = { readonly begun: number; readonly read: Promise<void>; readonly done: Promise<void> }

/** Minimum interval in ms between requests for a page. Hosts that share a database also share this interval. */
const ASK_EVERY = 60_000
/** How long a visitor waits for a newer page if an older one is cached, in ms. */
const PATIENCE = 1000
/** How long a visitor waits for the first page, in ms. That page must first be requested and compiled. */
const FIRST_PATIENCE = 8000
/** Maximum pages cached in memory; the others are in the database. */
const MOST_HELD = 200
/** Maximum warnings per page that are written to the solution's log. */
const MOST_WARNINGS = 10
/** Tables are named like a solution's i18n files: `default`, `nl`, `nl-BE`. */
const LOCALE = /^(?:default|[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3})$/

const NOTHING: Held = { page: null, digest: null, tag: null, refusedTag: null, checkedAt: Number.NEGATIVE_INFINITY }

export function createCloudLoginPages(parts: CloudLoginPagesParts): CloudLoginPages {
  const { requests, compile, rows, problems, solutionLog, source, stopped, now } = parts
  /** Ordered by use, least recently used first. */
  const held = new Map<string, Held>()
  const asking = new Map<string, Asking>()

  function hold(solution: string, change: Partial<Held>): Held {
    const next = { ...(held.get(solution) ?? NOTHING), ...change }
    held.delete(solution)
    held.set(solution, next)
    for (const oldest of held.keys()) {
      if (held.size <= MOST_HELD) break
      held.delete(oldest)
    }
    return next
  }

  function isFresh({ checkedAt }: Held): boolean {
    return now() - checkedAt < ASK_EVERY
  }

  /**
   * Reads the stored page. Another host may have received it from the control center, or this host before its last
   * restart.
   */
  async function readKept(solution: string): Promise<void> {
    const kept = await rows.read(solution)
    if (kept === null) return
    const isOurs = kept.source === source
    const digest = digestOf(kept.page)
    const before = held.get(solution) ?? NOTHING
    if (before.digest !== digest) {
      const page = await pageOf(solution, kept.page)
      if (page === null) return
      hold(solution, { page, digest, tag: isOurs ? kept.tag : null, refusedTag: null })
    }
    // The clocks of hosts differ. A host whose clock is ahead must not keep this one from sending a request.
    if (isOurs) hold(solution, { checkedAt: Math.max(before.checkedAt, Math.min(kept.checkedAt, now())) })
  }

  async function ask(solution: string): Promise<void> {
    const before = held.get(solution) ?? NOTHING
    const answer = await requests.loginPage(solution, before.refusedTag ?? before.tag)
    if (stopped.aborted) return
    const checkedAt = now()
    if (answer.kind === 'unchanged' || answer.kind === 'said') problems.reached(solution)
    if (answer.kind === 'said') return take(solution, { page: answer.value, tag: answer.tag, source, checkedAt })
    hold(solution, { checkedAt })
    if (answer.kind === 'unchanged') {
      await rows.checked(solution, checkedAt)
      if (before.refusedTag === null) problems.pageTaken(solution)
    } else if (answer.kind !== 'throttled') problems.found(solution, answer.kind, answer.why)
  }

  async function take(solution: string, given: KeptPage): Promise<void> {
    const { page: answered, tag, checkedAt } = given
    const digest = digestOf(answered)
    const isAsBefore = held.get(solution)?.digest === digest
    const page = isAsBefore ? (held.get(solution)?.page ?? null) : await pageOf(solution, answered, tag)
    if (page === null) {
      hold(solution, { checkedAt })
      return rows.checked(solution, checkedAt)
    }
    hold(solution, { page, digest, tag, refusedTag: null, checkedAt })
    problems.pageTaken(solution)
    await rows.keep(solution, given)
  }

  /** Compiles a page, and reports problems to the operator. @returns null if the page is unusable */
  async function pageOf(
    solution: string,
    { template, texts }: LoginPageAnswer,
    tag: string | null = null,
  ): Promise<DesignedPage | null> {
    const check = await compile(template)
    if (check.kind === 'sound') {
      for (const { message, line } of check.warnings.slice(0, MOST_WARNINGS)) {
        const place = line === undefined ? '' : ` (line ${line})`
        solutionLog.write(solution, {
          level: 'warn',
          message: `The login page from the control center has a problem: ${message}${place}`,
        })
      }
      return { template: check.template, texts: tablesOf(texts) }
    }
    problems.found(solution, 'page', check.why)
    if (check.kind === 'refused' && tag !== null) hold(solution, { refusedTag: tag })
    return null
  }

  /** All visitors of a solution share a single request. */
  function begin(solution: string): Asking {
    const read = readKept(solution)
    const done = read.then(() => (isFresh(held.get(solution) ?? NOTHING) ? undefined : ask(solution)))
    const ended = done
      .catch((error: unknown) => {
        hold(solution, { checkedAt: now() })
        problems.found(
          solution,
          'page',
          `an unexpected error occurred (${error instanceof Error ? error.name : typeof error})`,
        )
      })
      .finally(() => asking.delete(solution))
    const running = { begun: performance.now(), read: read.catch(() => {}), done: ended }
    asking.set(solution, running)
    return running
  }

  return {
    async of(solution) {
      const known = held.get(solution)
      if (known !== undefined && isFresh(known)) return known.page
      const { begun, read, done } = asking.get(solution) ?? begin(solution)
      if (known === undefined || known.page === null) await finishesWithin(FIRST_PATIENCE, read)
      const patience = held.get(solution)?.page ? PATIENCE : FIRST_PATIENCE
      const left = patience - (performance.now() - begun)
      if (left > 0) await finishesWithin(left, done)
      return held.get(solution)?.page ?? null
    },
    async settled() {
      await Promise.all([...asking.values()].map(({ done }) => done))
    },
  }
}

/** `nl_BE` is the table for the locale `nl-BE`. Tables with other names are ignored. */
function tablesOf(texts: LoginPageAnswer['texts']): DesignedPage['texts'] {
  const named = Object.entries(texts).map(([name, table]) => [name.replaceAll('_', '-'), table] as const)
  return Object.fromEntries(named.filter(([name]) => LOCALE.test(name)))
}

function digestOf(page: LoginPageAnswer): string {
  return createHash('sha256').update(JSON.stringify(page)).digest('base64url')
}
