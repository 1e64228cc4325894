import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Login, Tenant } from '../../plugins/security/host.ts'
import { type Json, ScriptError } from '../../runtime/plugin.ts'
import { checkEvent } from '../clients/check-event.ts'
import { createClient } from '../clients/client.ts'
import { createClientCaller } from '../clients/client-calls.ts'
import type { ClientParts } from '../clients/client-parts.ts'
import type { Connection } from '../clients/connection.ts'
import { createMissingTexts } from '../clients/missing-texts.ts'
import type { Visitor } from '../clients/visitor.ts'
import { type HostFrame, type NumberedFrame, readBrowserFrame } from '../web/frames.ts'
import { CALL, isCallable } from './call-script.ts'
import { formState } from './client-state.ts'
import { createRecorder, type RecordedParts } from './recorder.ts'
import { ScriptFailure } from './script-failure.ts'
import { plain } from './sign-in.ts'

/** A real client, with the test in place of its browser. */
export interface OpenClient {
  /** The state shown by the test's handle. */
  state(): Json
  /** @throws ScriptError if no user could do this, ScriptFailure if a script fails */
  event(type: string, element: string, value: Json): Promise<Json>
  /** @returns the function's result. @throws ScriptError, ScriptFailure */
  call(name: string, args: readonly Json[]): Promise<Json>
  wait(milliseconds: number): Promise<Json>
  close(): Promise<Json>
}

export type OpenClientParts = Omit<ClientParts, 'callClient' | 'missingTexts' | keyof RecordedParts> & RecordedParts

type Frame<Kind extends HostFrame['kind']> = Extract<HostFrame, { kind: Kind }>

/** Frames that tests can inspect later. Form contents are read from the client itself. */
const KEPT: readonly HostFrame['kind'][] = ['message', 'go', 'sign-in', 'sign-out', 'closed', 'reopened']

/** @throws ScriptFailure if a script fails while the client opens */
export async function openClient(visitor: Visitor, parts: OpenClientParts): Promise<OpenClient> {
  const recorder = createRecorder()
  const recorded = recorder.around(parts)
  const callClient = createClientCaller(recorded)
  let login: Login | null = null
  let tenant: Tenant | null = visitor.found?.session.tenant ?? null
  const frames: HostFrame[] = []
  let idleAt = -1
  /** Several, because tests can run actions concurrently. */
  const waiting: (() => void)[] = []
  let refused = 0
  let isClosed = false
  let seq = 0
  const begin = recorder.mark()

  const client = createClient(
    randomBytes(32).toString('base64url'),
    visitor,
    {
      ...parts,
      ...recorded,
      async callClient(...args) {
        const result = await callClient(...args)
        login = result.effects.login ?? login
        tenant = result.effects.tenant ?? tenant
        return result
      },
      missingTexts: createMissingTexts(recorded.log),
    },
    () => {},
  )

  const connection: Connection = {
    send(frame) {
      if (frame.kind === 'idle') idleAt = Math.max(idleAt, frame.seq)
      else if (KEPT.includes(frame.kind)) frames.push(frame)
      wake()
    },
    refuse() {
      refused += 1
    },
    close(_code, last) {
      if (last !== undefined) frames.push(last)
      isClosed = true
      wake()
    },
    answers: async () => true,
    checkHeartbeat: () => {},
  }

  function wake(): void {
    for (const resume of waiting.splice(0)) resume()
  }

  async function until(isDone: () => boolean): Promise<void> {
    while (!isDone() && !isClosed) {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push(resolve)
      await promise
    }
  }

  /** Runs an action and throws the first failure in it. */
  async function doing(work: () => Promise<void>): Promise<Json> {
    const mark = recorder.mark()
    await work()
    const [failure] = recorder.failuresSince(mark)
    if (failure !== undefined) throw new ScriptFailure(failure)
    if (lastOf('reopened') !== undefined)
      throw new ScriptError('the sandbox process of the client ended, and its state with it')
    return plain(recorder.since(mark))
  }

  const lastOf = <Kind extends HostFrame['kind']>(kind: Kind) =>
    frames.findLast((one): one is Frame<Kind> => one.kind === kind)

  function needOpen(): void {
    const over = frames.find((one) => ['sign-in', 'sign-out', 'closed'].includes(one.kind))
    if (over !== undefined || isClosed) throw new ScriptError('this client has ended: nothing more can be done in it')
  }

  async function send(type: string, element: string, value: Json): Promise<void> {
    needOpen()
    const form = client.screen.shown ?? ''
    seq += 1
    const frame = readBrowserFrame(JSON.stringify({ kind: 'event', seq, form, element, type, value }))
    if (frame === null || frame.kind !== 'event') {
      throw new ScriptError(
        `no browser sends the event ${type} of "${element}" with the value ${JSON.stringify(value)}`,
      )
    }
    needPossible(frame)
    client.receive(connection, frame)
    await until(() => idleAt >= frame.seq)
    if (refused > 0) throw new ScriptError(`the host refused ${type} of "${element}", which no browser could have sent`)
  }

  /** Throws for events that a host would silently ignore, since tests want to know. */
  function needPossible(frame: Extract<NumberedFrame, { kind: 'event' }>): void {
    const { screen } = client
    const definition = screen.definitionOf(frame.form)
    if (definition === null) throw new ScriptError('no form is shown')
    const { kind } = checkEvent(frame, definition, screen.viewOf(frame.form), screen.contextOf(frame.form))
    if (kind === 'stale') {
      throw new ScriptError(`no user can do that to "${frame.element}" now: it or its container is hidden or disabled`)
    }
    if (kind !== 'forged') return
    const names = Object.keys(formState(screen).elements)
    const there = names.includes(frame.element)
      ? `"${frame.element}" does not accept ${frame.type} with the value ${JSON.stringify(frame.value)}`
      : `there is no "${frame.element}" for this user; there are ${names.join(', ') || 'none'}`
    throw new ScriptError(`form "${frame.form}": ${there}`)
  }

  client.attach(
    connection,
    { kind: 'hello', client: null, page: randomUUID(), width: 1280, height: 800 },
    visitor,
    false,
  )
  await doing(() => until(() => idleAt >= 0)).catch(async (error: unknown) => {
    // The test gets no handle to close it.
    await client.end(null)
    throw error
  })

  return {
    state: () =>
      plain({
        ...formState(client.screen),
        locale: client.screen.locale,
        messages: frames.filter((one) => one.kind === 'message').map(({ text, level }) => ({ text, level })),
        wentTo: wentTo(lastOf('go')),
        login: lastOf('sign-in') === undefined ? null : login,
        tenant,
        isSignedOut: lastOf('sign-out') !== undefined,
        commands: recorder.since(begin).commands,
        log: recorder.since(begin).log,
      }),
    event: (type, element, value) => doing(() => send(type, element, value)),
    async call(name, args) {
      needOpen()
      if (!isCallable(name))
        throw new ScriptError(`client.call takes the name of a function, not ${JSON.stringify(name)}`)
      await doing(() => client.run(CALL, [name, args]))
      const result = recorder.resultOf(CALL)
      return result === null ? null : ((JSON.parse(result) as { value?: Json }).value ?? null)
    },
    wait: (milliseconds) => doing(() => wait(milliseconds)),
    async close() {
      isClosed = true
      return doing(() => client.end(null))
    },
  }
}

function wentTo(frame: Frame<'go'> | undefined): Json {
  if (frame === undefined) return null
  return { href: frame.href, ...(frame.target === undefined ? {} : { target: frame.target }) }
}
