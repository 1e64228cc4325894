import { SafeError, SafePromise, SafeTypeError, stringify } from './builtins.guest.ts'
import type { QuotaError } from './quotas.guest.ts'
import type { AnswerText, Binding, ContextState, Limits } from './types.guest.ts'
import { record } from './values.guest.ts'

type Waiting = { resolve: (answer: Answer) => void; binding: string }
type Answer = Pick<AnswerText, 'ok' | 'value'> & { binding: string }

/** Collects a call's commands for the host, and sends its requests. The host responds only to requests. */
export function createCommands(
  state: ContextState,
  limits: Limits,
  isClient: boolean,
  quotaError: QuotaError,
  encodeArgs: (args: readonly unknown[]) => string,
) {
  const commandsLimit = isClient ? 'CLIENT_COMMANDS_SIZE' : 'COMMANDS_SIZE'
  let commands = ''
  let commandCount = 0
  let hostCalls = 0
  let requestIds = 0
  let waiting: Record<string, Waiting> = record()

  function forgetCommands(): void {
    commands = ''
    commandCount = 0
    hostCalls = 0
    // Drop pending requests, since their call has ended.
    waiting = record()
  }

  function countHostCall(): void {
    hostCalls++
    const allowed = limits.CALL_REQUESTS as number
    if (hostCalls > allowed) throw quotaError('CALL_REQUESTS', allowed, hostCalls)
  }

  function needAllowed(command: string, shown: string): void {
    const { refuses } = state.message
    if (refuses === undefined) return
    for (let index = 0; index < refuses.length; index++) {
      if (refuses[index] === command) {
        throw new SafeTypeError(`${shown} doesn’t work in an endpoint or job: it needs an open page or a session`)
      }
    }
  }

  function command({ name, path }: Binding, method: string, args: readonly unknown[]): void {
    if (!state.running)
      throw new SafeError(
        `${path}.${method} can be used only in a function such as onSolutionOpen, not while scripts load`,
      )
    needAllowed(`${name}.${method}`, `${path}.${method}`)
    countHostCall()
    const allowed = limits[commandsLimit] as number
    const text = `{"plugin":${stringify(name)},"method":${stringify(method)},"args":${encodeArgs(args)}}`
    if (commands.length + text.length > allowed) throw quotaError(commandsLimit, allowed, commands.length + text.length)
    commands += `${commandCount++ === 0 ? '' : ','}${text}`
  }

  function request({ name, path }: Binding, method: string, args: readonly unknown[]): Promise<unknown> {
    const answered = new SafePromise<Answer>((resolve) => {
      if (!state.running)
        throw new SafeError(
          `${path}.${method} can be used only in a function such as onSolutionOpen, not while scripts load`,
        )
      countHostCall()
      const id = ++requestIds
      const text = `{"id":${id},"plugin":${stringify(name)},"method":${stringify(method)},"args":${encodeArgs(args)}}`
      waiting[id] = { resolve, binding: `${path}.${method}` }
      state.host('request', text)
    })
    return answerOf(answered)
  }

  /** The error is created in an async function, so that its stack contains the script that waits for the answer. */
  async function answerOf(answered: Promise<Answer>): Promise<unknown> {
    const { ok, value, binding } = await answered
    if (ok) return value
    throw new SafeError(typeof value === 'string' ? value : `${binding} failed`)
  }

  /**
   * Returns, as JSON properties, the call's commands so far and the ids of its requests that have no response yet, if
   * there are any.
   */
  function sentText(): string {
    let unanswered = ''
    for (const id in waiting) unanswered += unanswered === '' ? id : `,${id}`
    return `"commands":[${commands}]${unanswered === '' ? '' : `,"unanswered":[${unanswered}]`}`
  }

  function answer({ id, ok, value }: AnswerText): void {
    const one = waiting[id]
    if (one === undefined) return
    delete waiting[id]
    const { resolve, binding } = one
    // Without a prototype, so that no inherited `then` makes the promise wait for something else.
    const given: Answer & { __proto__: null } = { __proto__: null, ok, value, binding }
    resolve(given)
  }

  return { command, request, answer, forgetCommands, sentText }
}
