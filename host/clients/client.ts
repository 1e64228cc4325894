import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Effects, SolutionPage } from '../../base/bundles/host-call.ts'
import { createCorrelationId } from '../../base/http/correlation.ts'
import { localeOfFormats } from '../../base/http/languages.ts'
import type { SignedInUser, Tenant } from '../../plugins/security/host.ts'
import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { SandboxClient } from '../../runtime/supervisor.ts'
import { argumentOf, queryParams } from '../login/query-params.ts'
import { pageOfSolution } from '../login/sign-out-target.ts'
import type { BrowserEvent, BrowserFrame, ClosedWhy, NumberedFrame } from '../web/frames.ts'
import { checkAgain } from './check-again.ts'
import { checkEvent } from './check-event.ts'
import type { ClientCallResult } from './client-calls.ts'
import type { ClientParts } from './client-parts.ts'
import type { Connection } from './connection.ts'
import { createEnteredSecrets } from './entered-secrets.ts'
import { createLane } from './lane.ts'
import { SIGN_OUT_TIME } from './late-sign-outs.ts'
import { missingInputs } from './missing-inputs.ts'
import { createOutbox } from './outbox.ts'
import { isPermitted, type Place } from './render/outline.ts'
import { createScreen, type Screen } from './screen.ts'
import { signInFrame, signOutFrame } from './sign-frames.ts'
import { createTimers } from './timers.ts'
import { createUserWork, type UserWork } from './user-work.ts'
import type { Visitor } from './visitor.ts'

/**
 * One user's open solution: the context its scripts run in, the screen they build, and the browser connected to it, if
 * any.
 */
export interface Client {
  readonly id: string
  readonly visitor: Visitor
  /** The page load this client serves. `connection` is null while the browser is disconnected. */
  readonly page: string
  readonly connection: Connection | null
  /** Connects a browser and closes the previous connection. `isCopy`: the tab is a duplicate of another tab. */
  attach(connection: Connection, hello: Hello, visitor: Visitor, isCopy: boolean): void
  /** The connection closed. The client waits for a new one until its grace period ends. */
  detach(connection: Connection): void
  receive(connection: Connection, frame: BrowserFrame): void
  /** On a live host: switches to the active version, with the same form and the user's work in it. */
  renew(): Promise<void>
  /** Ends the client after `onUnload` of its forms and `onSolutionClose`. @returns once these have run */
  end(why: ClosedWhy | null): Promise<void>
  /**
   * The host is stopping. Running calls finish and are answered, then the connection closes with this code and the
   * client ends. The page opens a new client on another host. @returns once everything has run
   */
  move(code: number): Promise<void>
  /** What the client shows now. Solution tests read it, since they have no browser. */
  readonly screen: Screen
  /** Runs an entry function and applies its effects, as after an event. @returns once that is done */
  run(entry: string, args: readonly Json[]): Promise<void>
}

export type Hello = Extract<BrowserFrame, { kind: 'hello' }>

/** Close codes (RFC 6455, section 7.4.2) by the reason why a client ended. */
const CODES: Readonly<Record<ClosedWhy, number>> = {
  'signed-out': 4401,
  gone: 4410,
  elsewhere: 4409,
  failed: 4500,
  refused: 1008,
}
/** The page left for another one, see `sign-in` and `sign-out`. */
const LEFT = 1000
/** Queued frames per browser. No person types this fast. */
const MOST_WAITING = 300
/** A client whose scripts ended it is reopened automatically at most this often within `REOPENED_WITHIN` ms. */
const MOST_REOPENED = 3
const REOPENED_WITHIN = 60_000

/** @param over called once, when the client accepts no more browsers */
export function createClient(id: string, opener: Visitor, parts: ClientParts, over: (client: Client) => void): Client {
  const { limits, sessions, live } = parts
  const work = live === undefined ? null : createUserWork()
  let visitor = opener
  let solution: ActiveSolution = opener.solution
  let user: SignedInUser | null = opener.found?.session ?? null
  let overrides = new Map<string, string>()
  const secrets = createEnteredSecrets()
  let screen = newScreen(opener.locale)
  let sandbox: SandboxClient | null = null
  let isOpen = false
  let isOver = false
  let isLost = false
  /** Incremented when the client is reopened: events of earlier generations are ignored. */
  let generation = 0
  /** The generation for which a lost button press was already reported to the user. */
  let undoneIn = -1
  let page = ''
  let handled = 0
  let grace: NodeJS.Timeout | null = null
  const outbox = createOutbox()
  const { send } = outbox
  const lane = createLane(sayFault)
  const { enqueue } = lane
  let reopened: number[] = []
  const timers = createTimers((timer) => enqueue(() => runLater(timer)))

  function newScreen(locale: string): Screen {
    return createScreen({
      solution,
      locale,
      formatsOf: (ofLocale) => localeOfFormats(ofLocale, visitor.languages),
      user: visitor.found === null ? null : { ...visitor.found.session, tenant: user?.tenant ?? null },
      account: () => visitor.account,
      isTesting: parts.isTesting,
      isLive: live !== undefined,
      missing: (key, ofLocale) => parts.missingTexts.note(solution, key, ofLocale, secrets.redact),
      overrides,
    })
  }

  /** Internal error: the user sees that the action failed, and a reference for support. */
  function sayFault(error: unknown): void {
    const correlationId = createCorrelationId()
    parts.onError(error, { solution: solution.name, correlationId })
    if (isOpen) sayFailed(correlationId)
    else couldNotOpen('platform.client.notopened', correlationId)
  }

  /** Runs work that the browser did not request, so it needs a busy indicator. */
  async function asBusy(task: () => Promise<void>): Promise<void> {
    send({ kind: 'busy' })
    await task()
    send({ kind: 'idle', seq: handled })
  }

  // --- opening ------------------------------------------------------------------------------------------------------------

  async function open(): Promise<void> {
    const correlationId = createCorrelationId()
    const { name, loadable } = solution
    const opened = await parts.supervisor.openClient(loadable, {
      log: (line) => parts.log.write(name, { ...line, correlationId }),
    })
    if ('code' in opened) {
      parts.log.write(name, { level: 'error', code: opened.code, message: opened.message, correlationId })
      // While the solution is paused by the supervisor (`retryAt`), retrying in a moment would not help.
      const isBusy = opened.code === 'sandbox_busy' && opened.retryAt === undefined
      return couldNotOpen(isBusy ? 'platform.client.busy' : 'platform.client.notopened', correlationId)
    }
    if (isOver) return opened.close()
    sandbox = opened
    void opened.gone.then(() => lost(opened))
    if (!(await openSolution())) return
    if (screen.shown === null) await showForm(firstForm())
    if (work !== null) await goOnWith(work)
    if (isOver) return
    isOpen = true
    send(screen.language(handled), screen.whole(handled))
  }

  /** @returns whether the client can continue to open */
  async function openSolution(): Promise<boolean> {
    if (visitor.isLoginForm || !solution.entries.main?.includes('onSolutionOpen')) return true
    const args = [argumentOf(visitor.url), queryParams(visitor.url)]
    secrets.opened(visitor.url)
    const result = await call('onSolutionOpen', args)
    if (result.failure?.code === 'client_gone') return false
    // `onSolutionOpen` may decide who gets access, so the solution must not open if it fails.
    if (result.failure !== null) couldNotOpen('platform.client.notopened', result.correlationId)
    else await apply(result)
    return !isOver && result.failure === null
  }

  /** Chosen here: without `firstForm` in the manifest, a solution opens its alphabetically first form. */
  function firstForm(): string | null {
    const { loginForm, firstForm: named } = solution.manifest
    if (visitor.isLoginForm) return loginForm
    return named ?? [...solution.facts.definitions.keys()].sort()[0] ?? null
  }

  async function showForm(form: string | null): Promise<void> {
    if (form !== null && !isOver) await apply(await call('forms.show', [form]))
  }

  function couldNotOpen(key: string, reference: string): void {
    sayFailed(reference, key)
    giveUp('failed')
  }

  /** On a live host the client stays and waits for the next version. */
  function giveUp(why: ClosedWhy): void {
    if (live === undefined) void end(why)
  }

  /** The process or isolate of its scripts ended. Script state is lost; the user is still here. */
  function lost(which: SandboxClient): void {
    if (isOver || sandbox !== which) return
    sandbox = null
    isLost = true
    timers.clear()
    if (outbox.connection !== null) void enqueue(reopen)
  }

  async function reopen(): Promise<void> {
    if (isOver || !isLost) return
    isLost = false
    generation += 1
    const now = Date.now()
    reopened = [...reopened.filter((time) => time > now - REOPENED_WITHIN), now]
    const active = await parts.catalog.active(solution.name)
    if (active === null || reopened.length > MOST_REOPENED) {
      isOpen = false
      return giveUp('gone')
    }
    work?.forget()
    beginIn(active)
    send({ kind: 'reopened' })
    await asBusy(open)
  }

  function beginIn(version: ActiveSolution): void {
    solution = version
    isOpen = false
    overrides = new Map()
    screen = newScreen(screen.locale)
  }

  // --- new version on a live host -------------------------------------------------------------------------------------------

  async function renew(): Promise<void> {
    const active = await parts.catalog.active(solution.name)
    if (isOver || live === undefined || active === null || active.facts.sha256 === solution.facts.sha256) return
    if (!isEnteredAlike(solution, active)) return reload()
    await close()
    isLost = false
    reopened = []
    timers.clear()
    work?.putAside(screen.shown)
    beginIn(active)
    send({ kind: 'renewed', style: await live.styleHref(active) })
    await asBusy(open)
  }

  /** Users sign in differently in the new version: reload the page. */
  function reload(): void {
    goTo(visitor.page, null)
    void end(null)
  }

  /** Restores the user's form after the new version has opened, and replays the user's work in it. */
  async function goOnWith(work: UserWork): Promise<void> {
    const before = work.takeUp()
    if (before === null || screen.definitionOf(before.form) === null) return
    if (screen.shown !== before.form) await showForm(before.form)
    for (const event of before.events) {
      if (isOver || sandbox === null || screen.shown !== before.form) return
      await doAgain(event)
    }
  }

  /** Runs the handlers of a replayed event. Events that the new version does not accept are dropped. */
  async function doAgain(done: BrowserEvent): Promise<void> {
    const { event, checked } = checkAgain(done, screen)
    const { form, element, type, value } = event
    if (checked.kind === 'faulty') {
      screen.views.setFault(form, element, screen.text(checked.fault.key, checked.fault.values))
    }
    if (checked.kind !== 'accepted') return
    work?.note(event)
    const definition = screen.definitionOf(form)
    if (type === 'onElementDataChange' && definition !== null) secrets.entered(definition, element, value)
    await apply(await call('forms.event', [{ form, element, type, value }]))
  }

  // --- calls --------------------------------------------------------------------------------------------------------------

  type Result = ClientCallResult & { readonly correlationId: string }

  async function call(entry: string, args: readonly Json[], kind: 'open' | 'login' = 'open'): Promise<Result> {
    const correlationId = createCorrelationId()
    if (sandbox === null) throw new TypeError('the client has no context')
    const { address, serverUrl, found } = visitor
    const result = await parts.callClient(sandbox, solution, {
      entry,
      args,
      secrets: secrets.all(),
      call: {
        kind,
        correlationId,
        user,
        account: found?.session ?? null,
        address,
        locale: screen.locale,
        serverUrl,
        messages: overrides,
        onlyForm: visitor.isLoginForm ? solution.manifest.loginForm : null,
      },
    })
    return { ...result, correlationId }
  }

  /** Applies the effects of a call and updates the browser. */
  async function apply({ failure, effects, correlationId }: Result, isCounted = false): Promise<void> {
    if (failure?.code === 'client_gone') return
    if (failure !== null) sayFailed(correlationId, failure.code === 'sandbox_busy' ? 'platform.client.busy' : undefined)
    if (effects.messagesChanged === true) {
      overrides.clear()
      for (const [key, text] of effects.messages) overrides.set(key, text)
    }
    for (const update of effects.formUpdates ?? []) {
      secrets.updated(screen.definitionOf(update.form), update)
      work?.told(update)
    }
    for (const key of effects.missingKeys ?? []) {
      parts.missingTexts.note(solution, key, screen.locale, secrets.redact)
    }
    const frames = screen.apply(effects, handled)
    if (isOpen) send(...frames)
    timers.apply(effects)
    await keepSession(effects)
    if (visitor.isLoginForm) return isCounted ? signIn(effects) : undefined
    if (effects.logout !== null) return leave(effects)
    if (effects.showUrl !== null) goTo(effects.showUrl, effects.showUrlTarget)
    else if (effects.close !== undefined) await closeFor(effects.close)
  }

  /** The user stays signed in. If the solution does not exist, the page opens this one again. */
  async function closeFor({ solution: name, argument }: SolutionPage): Promise<void> {
    const page = (of: string | null) => pageOfSolution({ solution: of, argument }, visitor.client, parts)
    const href = (await page(name)) ?? (await page(solution.name))
    if (href === null) return
    goTo(href, null)
    void end(null)
  }

  async function keepSession({ tenant, locale }: Effects): Promise<void> {
    const { found } = visitor
    if (found === null || user === null || (tenant === null && locale === null)) return
    if (tenant !== null) user = { ...user, tenant }
    await sessions.change(solution.name, found.cookie, {
      ...(tenant === null ? {} : { tenant: tenant as Tenant }),
      ...(locale === null ? {} : { locale }),
    })
  }

  function sayFailed(reference: string, key = 'platform.client.failed'): void {
    send({ kind: 'message', text: screen.text(key, [reference]), level: 'error' })
  }

  /**
   * A button press was lost with the script context. It is not repeated in the new context, where its form starts over.
   * Reported once per context.
   */
  function sayUndone(mayBeDone = false): void {
    if (isOver || undoneIn === generation) return
    undoneIn = generation
    const text = screen.text(mayBeDone ? 'platform.client.maybedone' : 'platform.client.undone')
    send({ kind: 'message', text, level: 'warning' })
  }

  function goTo(href: string, target: string | null | undefined): void {
    send({ kind: 'go', href, ...(target ? { target } : {}) })
  }

  async function runLater(timer: number): Promise<void> {
    if (isOver || sandbox === null) return
    await asBusy(async () => apply(await call('application.runLater', [timer])))
  }

  // --- signing in and out -------------------------------------------------------------------------------------------------

  /** The client ends with its login form. */
  async function signIn({ login, ...effects }: Effects): Promise<void> {
    if (login === null) return
    const frame = signInFrame({ ...effects, login }, visitor, screen.locale, parts)
    // Without the browser cookie the sign-in cannot finish. Reloading the page sets the cookie.
    if (frame === null) return sayFailed(createCorrelationId(), 'platform.login.expired')
    await parts.throttle.succeeded(tryOf(visitor), true)
    send(frame)
    void end(null)
  }

  async function leave({ logout, ...effects }: Effects): Promise<void> {
    if (logout === null) return
    if (visitor.found !== null) parts.lateSignOuts.add(visitor)
    const frame = await signOutFrame({ ...effects, logout }, visitor, parts)
    if (frame !== null) send(frame)
    if (visitor.found !== null) void end(null)
  }

  // --- user events --------------------------------------------------------------------------------------------------------

  function receive(from: Connection, frame: BrowserFrame): void {
    if (from !== outbox.connection || isOver) return
    // Only the first frame of a connection may be a hello, which `Clients` handles.
    if (frame.kind === 'hello' || lane.waiting() >= MOST_WAITING) {
      from.refuse()
      return
    }
    const ofPage = page
    const ofGeneration = generation
    void enqueue(async () => {
      if (isOver || ofPage !== page) return
      try {
        if (frame.seq > handled && ofGeneration === generation) await take(from, frame)
      } finally {
        if (ofPage === page) handled = Math.max(handled, frame.seq)
        send({ kind: 'idle', seq: handled })
      }
    })
  }

  async function take(from: Connection, frame: NumberedFrame): Promise<void> {
    if (!(await isStillSignedIn())) return
    // The version failed to open: keep the event for the next version.
    if (work !== null && !isOpen && frame.kind === 'event') work.note(frame)
    if (isLost && isPress(frame)) sayUndone()
    if (sandbox === null || !isOpen) return
    // Events for a form that is no longer shown are ignored, like a click beside it.
    if (frame.form === screen.shown) await react(from, frame)
    else if (!screen.hasShown(frame.form)) from.refuse()
  }

  async function isStillSignedIn(): Promise<boolean> {
    const { found } = visitor
    if (found === null || (await sessions.find(solution.name, found.cookie)) !== null) return true
    void end('signed-out')
    return false
  }

  async function react(from: Connection, frame: NumberedFrame): Promise<void> {
    const definition = screen.definitionOf(frame.form)
    if (definition === null) return
    if (!isPermitted(definition, screen.contextOf(frame.form))) return from.refuse()
    if (frame.kind === 'resize')
      return fire(frame.seq, { form: frame.form, element: '', type: 'onResize', value: null })
    const checked = checkEvent(frame, definition, screen.viewOf(frame.form), screen.contextOf(frame.form))
    if (checked.kind === 'forged') return from.refuse()
    if (checked.kind === 'stale') return
    if (checked.kind === 'faulty') {
      screen.views.setFault(frame.form, frame.element, screen.text(checked.fault.key, checked.fault.values))
      return send(...screen.patch([frame.element], frame.seq))
    }
    if (frame.type === 'onElementDataChange' && screen.views.clearFault(frame.form, frame.element)) {
      send(...screen.patch([frame.element], frame.seq))
    }
    if (frame.type === 'onAction' && !mayPress(frame, checked.place, definition)) return
    if (frame.type === 'onElementDataChange') secrets.entered(definition, frame.element, frame.value)
    work?.note(frame)
    await fire(frame.seq, { form: frame.form, element: frame.element, type: frame.type, value: frame.value })
  }

  async function fire(seq: number, event: Record<string, Json>): Promise<void> {
    const isCounted = visitor.isLoginForm && event.type === 'onAction'
    if (isCounted && !(await mayTry())) return
    const result = await call('forms.event', [event], isCounted ? 'login' : 'open')
    handled = Math.max(handled, seq)
    if (result.failure?.code === 'client_gone' && event.type === 'onAction') sayUndone(result.failure.changedSomething)
    await apply(result, isCounted)
  }

  /** In a login form each button press may be a sign-in attempt. The account is known only after the script ran. */
  async function mayTry(): Promise<boolean> {
    const wait = await parts.throttle.count(tryOf(visitor), true)
    if (wait === null) return true
    send({ kind: 'message', text: screen.text('platform.login.throttled'), level: 'error' })
    return false
  }

  /** A primary button submits the form, so required inputs must be filled in. Other buttons don't check. */
  function mayPress({ form, seq }: BrowserEvent, { element }: Place, definition: FormDefinition): boolean {
    if (element.type !== 'button' || element.kind !== 'primary') return true
    const missing = missingInputs(definition, screen.viewOf(form), screen.contextOf(form))
    const [first] = missing
    if (first === undefined) return true
    for (const name of missing) screen.views.setFault(form, name, screen.text('platform.form.missing'))
    send(...screen.patch(missing, seq), { kind: 'focus', element: first })
    return false
  }

  // --- connecting and closing ---------------------------------------------------------------------------------------------

  function attach(next: Connection, hello: Hello, from: Visitor, isCopy: boolean): void {
    if (grace !== null) clearTimeout(grace)
    grace = null
    outbox.connection?.close(CODES.elsewhere, { kind: 'closed', why: 'elsewhere' })
    visitor = { ...from, solution, found: from.found ?? visitor.found }
    const isNew = page === ''
    if (hello.page !== page) handled = 0
    page = hello.page
    outbox.attach(next, { kind: 'hello', client: id, seq: handled, isNew: isNew && !isCopy })
    if (isOpen && sandbox !== null) send(screen.language(handled), screen.whole(handled))
    if (isNew) void enqueue(() => asBusy(open))
    else if (isLost) void enqueue(reopen)
  }

  function detach(which: Connection): void {
    if (which !== outbox.connection) return
    outbox.detach()
    grace = setTimeout(() => void end(null), limits.CLIENT_GRACE)
  }

  function end(why: ClosedWhy | null): Promise<void> {
    if (isOver) return lane.done()
    isOver = true
    timers.clear()
    if (grace !== null) clearTimeout(grace)
    const { connection } = outbox
    if (why !== null) connection?.close(CODES[why], { kind: 'closed', why })
    // A page that navigates away closes its connection itself.
    else if (connection !== null) setTimeout(connection.close, SIGN_OUT_TIME, LEFT).unref()
    over(client)
    return enqueue(close)
  }

  async function move(code: number): Promise<void> {
    await enqueue(async () => outbox.connection?.close(code))
    await end(null)
  }

  /** Runs the forms' `onUnload`, then `onSolutionClose`. Commands that they issue have no effect. */
  async function close(): Promise<void> {
    const open = sandbox
    if (open === null) return
    try {
      if (isOpen) await call('forms.close', [])
      if (isOpen && !visitor.isLoginForm && solution.entries.main?.includes('onSolutionClose')) {
        await call('onSolutionClose', [])
      }
    } finally {
      sandbox = null
      open.close()
    }
  }

  const client: Client = {
    id,
    get visitor() {
      return visitor
    },
    get page() {
      return page
    },
    get connection() {
      return outbox.connection
    },
    attach,
    detach,
    receive,
    renew: () => enqueue(renew),
    end,
    move,
    get screen() {
      return screen
    },
    run: (entry, args) =>
      enqueue(async () => {
        if (!isOver && sandbox !== null) await asBusy(async () => apply(await call(entry, args)))
      }),
  }
  return client
}

function isEnteredAlike({ manifest: one }: ActiveSolution, { manifest: other }: ActiveSolution): boolean {
  return (['authenticator', 'loginForm', 'loginSolution'] as const).every((key) => one[key] === other[key])
}

function isPress(frame: NumberedFrame): boolean {
  return frame.kind === 'event' && frame.type === 'onAction'
}

/** The account is not known yet, so the attempt counts for the network only. */
function tryOf({ address }: Visitor) {
  return { source: '', username: '', address }
}
