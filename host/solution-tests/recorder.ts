import type { Failed, GuestCommand } from '../../runtime/outcome.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { GuestBindings } from '../solutions/guest-bindings.ts'
import type { LogLine, NewLogLine, SolutionLog } from '../solutions/solution-log.ts'
import type { StoreQueuedRuns } from '../solutions/store-queued-runs.ts'

/** Records the actions of scripts, for tests. It wraps parts of the host without changing their behaviour. */
export interface Recorder {
  /** Wraps the parts so that calls are recorded. */
  around(parts: RecordedParts): RecordedParts
  /** Everything that was recorded since `mark`. */
  since(mark: Mark): Recorded
  mark(): Mark
  /** Calls that failed since `mark`, in order. */
  failuresSince(mark: Mark): readonly Failed[]
  /** The result of the last call of this entry function in a client; null if there was none or it failed. */
  resultOf(entry: string): string | null
}

export type RecordedParts = {
  readonly bindings: GuestBindings
  readonly supervisor: Supervisor
  readonly log: Pick<SolutionLog, 'write'>
  readonly storeRuns?: StoreQueuedRuns | undefined
}

export type Mark = { readonly commands: number; readonly log: number; readonly failures: number; readonly at: number }

export type Recorded = {
  readonly commands: readonly { readonly name: string; readonly args: readonly Json[] }[]
  readonly log: readonly Omit<LogLine, 'time' | 'correlationId'>[]
  readonly milliseconds: number
}

/** Maximum number of records; any more are not recorded. No test inspects this many. */
const MOST = 10_000
/** Commands that the bindings send automatically. They are not recorded, because no script requested them. */
const OWN = new Set(['forms.update', 'forms.listening', 'i18n.missing'])

export function createRecorder(): Recorder {
  const commands: Recorded['commands'][number][] = []
  const log: Recorded['log'][number][] = []
  const failures: Failed[] = []
  const results = new Map<string, string | null>()

  function noteCommands(list: readonly GuestCommand[]): void {
    for (const { plugin, method, args } of list) {
      const name = `${plugin}.${method}`
      if (!OWN.has(name) && commands.length < MOST) commands.push({ name, args })
    }
  }

  function noteLine({ level, message, code, position }: NewLogLine): void {
    if (log.length < MOST) log.push({ level, message, ...(code ? { code } : {}), ...position })
  }

  return {
    around: ({ bindings, supervisor, log: kept, storeRuns }) => ({
      storeRuns,
      bindings: {
        ...bindings,
        apply(call, list) {
          bindings.apply(call, list)
          noteCommands(list)
        },
      },
      supervisor: {
        ...supervisor,
        async call(...args) {
          const outcome = await supervisor.call(...args)
          if (outcome.code !== 'returned') failures.push(outcome)
          return outcome
        },
        async openClient(...args) {
          const opened = await supervisor.openClient(...args)
          if ('code' in opened) {
            failures.push(opened)
            return opened
          }
          return {
            ...opened,
            async call(...given) {
              const outcome = await opened.call(...given)
              results.set(given[0].entry, outcome.code === 'returned' ? outcome.result : null)
              if (outcome.code !== 'returned' && outcome.code !== 'client_gone') failures.push(outcome)
              return outcome
            },
          }
        },
      },
      log: {
        write(solution, line) {
          noteLine(line)
          kept.write(solution, line)
        },
      },
    }),
    mark: () => ({
      commands: commands.length,
      log: log.length,
      failures: failures.length,
      at: performance.now(),
    }),
    since: (mark) => ({
      commands: commands.slice(mark.commands),
      log: log.slice(mark.log),
      milliseconds: Math.round(performance.now() - mark.at),
    }),
    failuresSince: (mark) => failures.slice(mark.failures),
    resultOf: (entry) => results.get(entry) ?? null,
  }
}
