import type { LogEvent } from 'kysely'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import { solutionOfKey } from '../../base/bundles/active-solution.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Audit, AuditEntry } from '../access/audit.ts'
import type { Outbound } from '../outbound/outbound.ts'
import type { GuestBindings } from '../solutions/guest-bindings.ts'
import type { Figures, Gauges } from './figures.ts'
import { entryLabel, modeLabel, resultLabel } from './labels.ts'
import type { Telemetry } from './telemetry.ts'

/**
 * Decorators that add telemetry to parts of the host. Each returns the given part with the same behaviour. All counting
 * is done here, so the parts do not depend on telemetry.
 */

type Watcher = Pick<Telemetry, 'metrics' | 'spans' | 'solutionLabel'>

/** Counts sign-ins. They are taken from the audit log, which records each sign-in, whatever its outcome. */
export function watchAudit(audit: Audit, { metrics, spans, solutionLabel }: Watcher): Audit {
  function count({ action, outcome, solution = '', mode = '', target = '' }: AuditEntry): void {
    if (!metrics.isOn()) return
    if (action === 'second-step') metrics.add('secondSteps', { method: target, result: resultLabel(outcome) })
    if (action !== 'sign-in' && action !== 'remembered-sign-in') return
    const labels = { mode: action === 'sign-in' ? modeLabel(mode) : 'remembered', result: resultLabel(outcome) }
    metrics.add('logins', { solution: solutionLabel(solution), ...labels })
    const request = spans.current()
    if (request !== undefined) metrics.record('loginTime', performance.now() - request.startedAt, labels)
    spans.addAttributes({ 'solhost.solution': solution, 'solhost.mode': labels.mode, 'solhost.result': labels.result })
  }

  return {
    ...audit,
    note(entry) {
      count(entry)
      audit.note(entry)
    },
    noteOnce(entry, isActorProven) {
      count(entry)
      return audit.noteOnce(entry, isActorProven)
    },
  }
}

export function watchThrottle(throttle: Throttle, { metrics }: Watcher): Throttle {
  return {
    ...throttle,
    async count(attempt, isKnown) {
      const wait = await throttle.count(attempt, isKnown)
      if (wait !== null) metrics.add('throttles', {})
      return wait
    },
  }
}

/** Counts script calls, and provides the gauges that are polled every ten seconds. */
export function watchFigures(figures: Figures, { metrics, solutionLabel }: Watcher): Figures {
  let seen: Gauges | null = null
  metrics.observe('memory', () => {
    if (seen === null) return []
    return [
      { value: seen.hostMemory, labels: { part: 'host' } },
      { value: seen.processMemory, labels: { part: 'sandbox' } },
    ]
  })
  metrics.observe('clients', () => (seen === null ? [] : [{ value: seen.clients, labels: {} }]))
  return {
    ...figures,
    called(end) {
      figures.called(end)
      if (!metrics.isOn()) return
      const { code, milliseconds } = end.outcome
      const labels = { solution: solutionLabel(end.solution), entry: entryLabel(end.entry), outcome: code }
      metrics.add('scriptCalls', labels)
      if (code !== 'sandbox_busy') metrics.record('scriptTime', milliseconds, labels)
    },
    looked(gauges) {
      seen = gauges
      figures.looked(gauges)
    },
  }
}

/** Traces login calls and measures how long they waited for a sandbox process. */
export function watchCalls(supervisor: Supervisor, { metrics, spans }: Watcher): Supervisor {
  return {
    ...supervisor,
    call(version, call, handlers) {
      if (!metrics.isOn()) return supervisor.call(version, call, handlers)
      const facts = { 'solhost.solution': solutionOfKey(version.key), 'solhost.entry': call.entry }
      return spans.run('sandbox', facts, async (addAttributes) => {
        const asked = performance.now()
        let began = asked
        const outcome = await supervisor.call(version, call, {
          ...handlers,
          // Messages from a process arrive outside the request's async context, so attribute their work to the request.
          log: spans.keep(handlers.log),
          request: spans.keep(handlers.request),
          began() {
            began = performance.now()
            handlers.began?.()
          },
        })
        metrics.record('queueTime', began - asked, {})
        addAttributes({
          'solhost.outcome': outcome.code,
          'solhost.queue_ms': rounded(began - asked),
          'solhost.run_ms': rounded(performance.now() - began),
        })
        return outcome
      })
    },
  }
}

/**
 * Traces all calls in open clients. Each call is a separate trace, since the request that opened the client has ended.
 */
export function watchClients(supervisor: Supervisor, { metrics, spans }: Watcher): Supervisor {
  return {
    ...supervisor,
    async openClient(version, handlers) {
      const opened = await supervisor.openClient(version, handlers)
      if ('code' in opened) return opened
      const solution = solutionOfKey(version.key)
      return {
        ...opened,
        call(call, { log, request }) {
          if (!metrics.isOn()) return opened.call(call, { log, request })
          const facts = { 'solhost.solution': solution, 'solhost.entry': call.entry }
          return spans.root('client', facts, async (addAttributes) => {
            const asked = performance.now()
            const outcome = await opened.call(call, { log: spans.keep(log), request: spans.keep(request) })
            addAttributes({ 'solhost.outcome': outcome.code, 'solhost.run_ms': rounded(performance.now() - asked) })
            return outcome
          })
        },
      }
    },
  }
}

/** Measures and traces requests from scripts to plugins. */
export function watchBindings(bindings: GuestBindings, { metrics, spans }: Watcher): GuestBindings {
  return {
    ...bindings,
    answer(call, plugin, method, args) {
      if (!metrics.isOn()) return bindings.answer(call, plugin, method, args)
      const binding = `${plugin}.${method}`
      const begun = performance.now()
      const record = (result: string) => metrics.record('bindingTime', performance.now() - begun, { binding, result })
      let answered: ReturnType<GuestBindings['answer']> | undefined
      let refused: unknown
      const traced = spans.run('plugin', { 'solhost.binding': binding }, async () => {
        try {
          answered = bindings.answer(call, plugin, method, args)
        } catch (error) {
          refused = error
          throw error
        }
        await answered.value
      })
      traced.then(
        () => record('ok'),
        // Only a guest that bypasses the plugins sends the name of an unknown binding. Such a request is not recorded,
        // and the call ends.
        () => answered !== undefined && record('failed'),
      )
      // `answered` is already set unless `bindings.answer` threw an error: the work above runs synchronously up to its
      // first `await`.
      if (answered === undefined) throw refused
      return answered
    },
  }
}

export function watchSessions(sessions: Sessions, { spans }: Watcher): Sessions {
  return { ...sessions, start: (session) => spans.run('session', {}, () => sessions.start(session)) }
}

export function watchProviders(outbound: Outbound, { metrics, spans }: Watcher): Outbound {
  return {
    request(asked) {
      const facts = { 'server.address': URL.parse(asked.url)?.hostname ?? '', 'http.request.method': asked.method }
      return spans.run('provider', facts, async (addAttributes) => {
        const begun = performance.now()
        const record = (result: string) => metrics.record('providerTime', performance.now() - begun, { result })
        try {
          const answer = await outbound.request(asked)
          record(`${Math.floor(answer.status / 100)}xx`)
          addAttributes({ 'http.response.status_code': answer.status })
          return answer
        } catch (error) {
          record('failed')
          throw error
        }
      })
    },
  }
}

/** Measures platform database queries by operation. Their text and values are not recorded. */
export function watchQueries({ metrics, spans }: Watcher): (event: LogEvent) => void {
  return ({ level, query: { query }, queryDurationMillis }) => {
    if (!metrics.isOn()) return
    const operation = OPERATIONS[query.kind] ?? 'other'
    metrics.record('databaseTime', queryDurationMillis, { operation, result: level === 'error' ? 'failed' : 'ok' })
    spans.past('database', queryDurationMillis, { 'db.operation.name': operation }, level === 'error')
  }
}

const OPERATIONS: Readonly<Record<string, string>> = {
  SelectQueryNode: 'select',
  InsertQueryNode: 'insert',
  UpdateQueryNode: 'update',
  DeleteQueryNode: 'delete',
}

/** Reports the number of processes by kind, and the memory limit of the host and its processes, in bytes. */
export function observeProcesses(supervisor: Supervisor, { metrics }: Watcher): void {
  metrics.observe('memoryLimit', () => [{ value: supervisor.memory().maximum, labels: {} }])
  metrics.observe('processes', () => {
    const counts = { logins: 0, clients: 0, waiting: 0 }
    for (const { key, clients } of supervisor.processes()) {
      counts[key === null ? 'waiting' : clients === undefined ? 'logins' : 'clients']++
    }
    return Object.entries(counts).map(([kind, value]) => ({ value, labels: { kind } }))
  })
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}
