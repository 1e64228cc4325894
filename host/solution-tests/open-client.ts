import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Login, Tenant } from '../../plugins/security/host.ts'
import { type Json, ScriptError } from '../../runtime/plugin.ts'
import { createClient } from '../clients/client.ts'
import { createClientCaller } from '../clients/client-calls.ts'
import type { ClientParts } from '../clients/client-parts.ts'
import { createMissingTexts } from '../clients/missing-texts.ts'
import type { Visitor } from '../clients/visitor.ts'
import type { AskedPress } from '../second-step/presses.ts'
import { CALL, isCallable } from './call-script.ts'
import { formState } from './client-state.ts'
import { needPossible, readEvent } from './possible-events.ts'
import { createRecorder, type RecordedParts } from './recorder.ts'
import { ScriptFailure } from './script-failure.ts'
import { plain } from './sign-in.ts'
import { createTestBrowser, type Frame } from './test-browser.ts'

/** A real client, which the test controls in place of a browser. */
export interface OpenClient {
  /** The state that the test's handle shows. */
  state(): Json
  /** @throws ScriptError if no user could perform this action, ScriptFailure if a script fails */
  event(type: string, element: string, value: Json): Promise<Json>
  /** @throws ScriptError if the page has not asked whether to leave, ScriptFailure if a script fails */
  leave(): Promise<Json>
  /** @throws ScriptError if no confirmation is pending, ScriptFailure if a script fails */
  confirm(): Promise<Json>
  /** @throws ScriptError if no confirmation is pending */
  refuse(): Promise<Json>
  /**
   * @returns the function's result
   * @throws ScriptError, ScriptFailure
   */
  call(name: string, args: readonly Json[]): Promise<Json>
  wait(milliseconds: number): Promise<Json>
  close(): Promise<Json>
}

export type OpenClientParts = Omit<ClientParts, 'callClient' | 'missingTexts' | keyof RecordedParts> & RecordedParts

/** @throws ScriptFailure if a script fails while the client opens */
export async function openClient(visitor: Visitor, parts: OpenClientParts): Promise<OpenClient> {
  const recorder = createRecorder()
  const recorded = recorder.around(parts)
  const callClient = createClientCaller(recorded)
  let login: Login | null = null
  let tenant: Tenant | null = visitor.found?.session.tenant ?? null
  let seq = 0
  /** The number of "Leave without saving?" dialogs that the page had shown when the test last answered one. */
  let answered = 0
  /** The number of confirmation dialogs that the page had shown when the test last answered one. */
  let confirmed = 0
  const browser = createTestBrowser()
  const { connection, lastOf } = browser
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

  /** Performs an action, and throws the first failure in it. */
  async function doing(work: () => Promise<void>): Promise<Json> {
    const mark = recorder.mark()
    await work()
    const [failure] = recorder.failuresSince(mark)
    if (failure !== undefined) throw new ScriptFailure(failure)
    if (lastOf('reopened') !== undefined)
      throw new ScriptError('the client lost its state because its sandbox process stopped; open another client')
    return plain(recorder.since(mark))
  }

  async function send(type: string, element: string, value: Json): Promise<void> {
    browser.needOpen()
    if (questionOf() !== null) {
      throw new ScriptError('the page is asking the user to confirm; call client.confirm() or client.refuse() first')
    }
    seq += 1
    const frame = readEvent(seq, client.screen, type, element, value)
    needPossible(frame, client.screen)
    client.receive(connection, frame)
    await browser.untilIdle(frame.seq)
    if (browser.refused() > 0)
      throw new ScriptError(`the host rejected the event ${type} for "${element}": browsers never send it`)
  }

  async function leave(): Promise<void> {
    browser.needOpen()
    const asked = browser.frames.filter(({ kind }) => kind === 'leaving').length
    const form = client.screen.shown
    if (asked === answered || form === null) throw new ScriptError('no page is asking "Leave without saving?"')
    answered = asked
    seq += 1
    client.receive(connection, { kind: 'leave', seq, form })
    await browser.untilIdle(seq)
  }

  /** Returns the button press that the user is asked to confirm; null if no question is pending. */
  function questionOf(): AskedPress | null {
    const asked = browser.frames.filter(({ kind }) => kind === 'confirm').length
    const href = lastOf('confirm')?.href
    if (asked === confirmed || href === undefined || visitor.found === null) return null
    const question = URL.parse(href, visitor.serverUrl)?.searchParams.get('question') ?? ''
    return parts.presses.read(visitor.found.session, question)
  }

  /** Simulates the user's answer on the page where they confirm their identity. */
  async function answerQuestion(isConfirmed: boolean): Promise<void> {
    browser.needOpen()
    const press = questionOf()
    const { found } = visitor
    if (press === null || found === null) throw new ScriptError('the page isn’t asking the user to confirm')
    confirmed = browser.frames.filter(({ kind }) => kind === 'confirm').length
    seq += 1
    if (!isConfirmed) client.receive(connection, { kind: 'unconfirmed', seq })
    else {
      if (!press.every) await parts.sessions.confirm(found.session.realm, found.cookie, found.session.methods)
      client.receive(connection, { kind: 'confirmed', seq, proof: parts.presses.prove(found.session, press) })
    }
    await browser.untilIdle(seq)
  }

  client.attach(
    connection,
    { kind: 'hello', client: null, page: randomUUID(), width: 1280, height: 800 },
    visitor,
    false,
  )
  await doing(() => browser.untilIdle(0)).catch(async (error: unknown) => {
    // Close the client: the test has no handle for a client that failed to open.
    await client.end(null)
    throw error
  })

  return {
    state: () =>
      plain({
        ...formState(client.screen),
        locale: client.screen.locale,
        messages: browser.frames.filter((one) => one.kind === 'message').map(({ text, level }) => ({ text, level })),
        wentTo: wentTo(lastOf('go')),
        login: lastOf('sign-in') === undefined ? null : login,
        confirming: questionOf()?.reason ?? null,
        tenant,
        isSignedOut: lastOf('sign-out') !== undefined,
        commands: recorder.since(begin).commands,
        log: recorder.since(begin).log,
      }),
    event: (type, element, value) => doing(() => send(type, element, value)),
    leave: () => doing(leave),
    confirm: () => doing(() => answerQuestion(true)),
    refuse: () => doing(() => answerQuestion(false)),
    async call(name, args) {
      browser.needOpen()
      if (!isCallable(name))
        throw new ScriptError(`client.call requires the name of a function, not ${JSON.stringify(name)}`)
      await doing(() => client.run(CALL, [name, args]))
      const result = recorder.resultOf(CALL)
      return result === null ? null : ((JSON.parse(result) as { value?: Json }).value ?? null)
    },
    wait: (milliseconds) => doing(() => wait(milliseconds)),
    async close() {
      browser.leave()
      return doing(() => client.end(null))
    },
  }
}

function wentTo(frame: Frame<'go'> | undefined): Json {
  if (frame === undefined) return null
  return { href: frame.href, ...(frame.target === undefined ? {} : { target: frame.target }) }
}
