import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { DesignedPage } from '../../../base/bundles/login-page.ts'
import type { LoginPageAnswer } from '../../../base/protocol/protocol.ts'
import type { SolutionLog } from '../../solutions/solution-log.ts'
import type { PageCompiler } from './compile-page.ts'
import type { CloudLoginRequests } from './login-requests.ts'
import type { KeptPage, PageRows } from './page-rows.ts'
import type { CloudLoginProblems } from './problems.ts'

export interface CloudLoginPages {
  /** Null: there is none that could be shown. Never throws. */
  of(solution: string): Promise<DesignedPage | null>
  /** Once nothing is asked any more. */
  settled(): Promise<void>
}

export type CloudLoginPagesParts = {
  readonly requests: Pick<CloudLoginRequests, 'loginPage'>
  readonly compile: PageCompiler
  readonly rows: PageRows
  readonly problems: CloudLoginProblems
  readonly solutionLog: Pick<SolutionLog, 'write'>
  /** Which control center and environment are asked: the tag of a page says nothing to others. */
  readonly source: string
  /** The host ends: what is not answered any more says nothing. */
  readonly stopped: AbortSignal
  /** In epoch ms. */
  readonly now: () => number
}

/** What is known of a solution's page on this host. */
type Held = {
  readonly page: DesignedPage | null
  /** SHA-256 of what the page was made of; null: there is none. */
  readonly digest: string | null
  readonly tag: string | null
  /** Of a page that was not taken: it is not fetched and compiled again. */
  readonly refusedTag: string | null
  readonly checkedAt: number
}

type Asking = { readonly begun: number; readonly read: Promise<void>; readonly done: Promise<void> }

/** The control center is asked so often at most, by all hosts that share a database, in ms. */
const ASK_EVERY = 60_000
/** A visitor waits so long for a newer page than the one that is there, in ms. */
const PATIENCE = 1000
/** And so long for the first one: a request, and a process that compiles the page. */
const FIRST_PATIENCE = 8000
/** Pages in memory; others are in the database. */
const MOST_HELD = 200
/** Lines of a page's warnings in the solution's log. */
const MOST_WARNINGS = 10
/** Names of tables as those of a solution's i18n files: `default`, `nl`, `nl-BE`. */
const LOCALE = /^(?:default|[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3})$/

const NOTHING: Held = { page: null, digest: null, tag: null, refusedTag: null, checkedAt: Number.NEGATIVE_INFINITY }

export function createCloudLoginPages(parts: CloudLoginPagesParts): CloudLoginPages {
  const { requests, compile, rows, problems, solutionLog, source, stopped, now } = parts
  /** In the order of use, the longest unused first. */
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

  /** What another host, or this one before its last start, had of the control center. */
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
    // Clocks of hosts differ: one that is ahead must not keep this one from asking.
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

  /** @returns null for a page that cannot be taken, of which the operator was told */
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
          message: `The login page of the control center: ${message}${place}`,
        })
      }
      return { template: check.template, texts: tablesOf(texts) }
    }
    problems.found(solution, 'page', check.why)
    if (check.kind === 'refused' && tag !== null) hold(solution, { refusedTag: tag })
    return null
  }

  /** One for all visitors of a solution. */
  function begin(solution: string): Asking {
    const read = readKept(solution)
    const done = read.then(() => (isFresh(held.get(solution) ?? NOTHING) ? undefined : ask(solution)))
    const ended = done
      .catch((error: unknown) => {
        hold(solution, { checkedAt: now() })
        problems.found(solution, 'page', `something went wrong (${error instanceof Error ? error.name : typeof error})`)
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
      if (known === undefined || known.page === null) await within(read, FIRST_PATIENCE)
      const patience = held.get(solution)?.page ? PATIENCE : FIRST_PATIENCE
      await within(done, patience - (performance.now() - begun))
      return held.get(solution)?.page ?? null
    },
    async settled() {
      await Promise.all([...asking.values()].map(({ done }) => done))
    },
  }
}

/** Waits for it, or for the time. */
async function within(done: Promise<void>, milliseconds: number): Promise<void> {
  if (milliseconds <= 0) return
  const over = new AbortController()
  await Promise.race([done, wait(milliseconds, undefined, { signal: over.signal }).catch(() => {})])
  over.abort()
}

/** `nl_BE` is the locale `nl-BE`; tables under other names are nobody's. */
function tablesOf(texts: LoginPageAnswer['texts']): DesignedPage['texts'] {
  const named = Object.entries(texts).map(([name, table]) => [name.replaceAll('_', '-'), table] as const)
  return Object.fromEntries(named.filter(([name]) => LOCALE.test(name)))
}

function digestOf(page: LoginPageAnswer): string {
  return createHash('sha256').update(JSON.stringify(page)).digest('base64url')
}
