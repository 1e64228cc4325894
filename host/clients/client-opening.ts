import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { createCorrelationId } from '../../base/http/correlation.ts'
import type { SandboxClient } from '../../runtime/supervisor.ts'
import { argumentOf, queryParams } from '../login/query-params.ts'
import type { ClientEffects } from './client-effects.ts'
import type { ClientEnding } from './client-ending.ts'
import type { CallEntry } from './client-entries.ts'
import type { ClientNotices } from './client-notices.ts'
import { replayWork } from './client-replay.ts'
import { beginIn, type ClientState } from './client-state.ts'

/**
 * Opens the context that a client's scripts run in, also after a crash. On a live host, it also opens a context for the
 * next version.
 */
export interface ClientOpening {
  open(): Promise<void>
  /** Opens a new context if the last one ended unexpectedly. */
  reopen(): Promise<void>
  /** Implements the method of the same name in `Client`. */
  renew(): Promise<void>
}

/**
 * How many times within `REOPENED_WITHIN` ms a client is reopened automatically. `MOST_CRASHES` counts only contexts
 * that ended after the client was open. If one ends earlier, the cause is another client or a lack of memory, because a
 * failing `onSolutionOpen` closes the client instead.
 */
const MOST_CRASHES = 3
const MOST_REOPENED = 10
const REOPENED_WITHIN = 60_000

export function createClientOpening(
  state: ClientState,
  call: CallEntry,
  { goTo, asBusy }: ClientNotices,
  effects: ClientEffects,
  { couldNotOpen, giveUp, end, close }: ClientEnding,
): ClientOpening {
  const { parts, outbox, lane, timers, secrets, work } = state
  const { send } = outbox
  let reopened: { readonly time: number; readonly wasOpen: boolean }[] = []

  async function open(): Promise<void> {
    const correlationId = createCorrelationId()
    const { name, loadable } = state.solution
    const opened = await parts.supervisor.openClient(loadable, {
      log: (line) => parts.log.write(name, { ...line, correlationId }),
    })
    if ('code' in opened) {
      parts.log.write(name, { level: 'error', code: opened.code, message: opened.message, correlationId })
      // If the supervisor has paused the solution (`retryAt`), an early retry would not help.
      const isBusy = opened.code === 'sandbox_busy' && opened.retryAt === undefined
      return couldNotOpen(isBusy ? 'platform.client.busy' : 'platform.client.notopened', correlationId)
    }
    if (state.isOver) return opened.close()
    state.sandbox = opened
    void opened.gone.then(() => lost(opened))
    if (!(await openSolution())) return
    if (state.screen.shown === null) await effects.showForm(firstForm(state))
    if (work !== null) await replayWork(work, state, call, effects)
    // If the context has already ended, `lost` opens another one.
    if (state.isOver || state.sandbox !== opened) return
    state.isOpen = true
    send(state.screen.language(state.handled), state.screen.whole(state.handled))
  }

  /** Runs `onSolutionOpen`, if there is one. @returns whether opening can continue */
  async function openSolution(): Promise<boolean> {
    const { visitor, solution } = state
    if (visitor.isLoginForm || !solution.entries.main?.includes('onSolutionOpen')) return true
    const args = [argumentOf(visitor.url), queryParams(visitor.url)]
    secrets.opened(visitor.url)
    const result = await call('onSolutionOpen', args)
    if (result.failure?.code === 'client_gone') return false
    // `onSolutionOpen` may decide who gets access, so if it fails, the solution must not open.
    if (result.failure !== null) couldNotOpen('platform.client.notopened', result.correlationId)
    else await effects.apply(result)
    return !state.isOver && result.failure === null
  }

  /**
   * Called when the scripts' process or isolate has ended and their state is lost. If a browser is connected, opens a
   * new context.
   */
  function lost(which: SandboxClient): void {
    if (state.isOver || state.sandbox !== which) return
    state.sandbox = null
    state.isLost = true
    timers.clear()
    if (outbox.connection !== null) void lane.enqueue(reopen)
  }

  async function reopen(): Promise<void> {
    if (state.isOver || !state.isLost) return
    state.isLost = false
    state.generation += 1
    const now = Date.now()
    const recent = reopened.filter(({ time }) => time > now - REOPENED_WITHIN)
    reopened = [...recent, { time: now, wasOpen: state.isOpen }]
    const crashes = reopened.filter(({ wasOpen }) => wasOpen).length
    const active = await parts.catalog.active(state.solution.name)
    if (active === null || crashes > MOST_CRASHES || reopened.length > MOST_REOPENED) {
      state.isOpen = false
      return giveUp('gone')
    }
    work?.forget()
    beginIn(state, active)
    send({ kind: 'reopened' })
    await asBusy(open)
  }

  async function renew(): Promise<void> {
    const { live, catalog } = parts
    const active = await catalog.active(state.solution.name)
    const { isOver, solution } = state
    if (isOver || live === undefined || active === null || active.facts.sha256 === solution.facts.sha256) return
    if (!isEnteredAlike(solution, active)) return reload()
    await close()
    state.isLost = false
    reopened = []
    timers.clear()
    work?.putAside(state.screen.shown)
    beginIn(state, active)
    send({ kind: 'renewed', style: await live.styleHref(active) })
    await asBusy(open)
  }

  /** Reloads the page, because users sign in differently in the new version. */
  function reload(): void {
    goTo(state.visitor.page, null)
    void end(null)
  }

  return { open, reopen, renew }
}

/**
 * Chosen here: without `firstForm` in the manifest, a solution opens the form whose name comes first alphabetically.
 */
function firstForm({ solution, visitor }: ClientState): string | null {
  const { loginForm, firstForm: named } = solution.manifest
  if (visitor.isLoginForm) return loginForm
  return named ?? [...solution.facts.definitions.keys()].sort()[0] ?? null
}

function isEnteredAlike({ manifest: one }: ActiveSolution, { manifest: other }: ActiveSolution): boolean {
  return (['authenticator', 'loginForm', 'loginSolution'] as const).every((key) => one[key] === other[key])
}
