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

/** One user's open solution: its scripts' context, what they show, and the browser that looks at it, if one does. */
export interface Client {
  readonly id: string
  readonly visitor: Visitor
  /** The load of the page that it answers, and the connection of it; null while that is lost. */
  readonly page: string
  readonly connection: Connection | null
  /** A browser looks at it from now on; an earlier connection of it is closed. `isCopy`: the tab is a copy of another. */
  attach(connection: Connection, hello: Hello, visitor: Visitor, isCopy: boolean): void
  /** The connection is over: the client waits for another one until its grace is over. */
  detach(connection: Connection): void
  receive(connection: Connection, frame: BrowserFrame): void
  /** On a live host: goes on in the active version with the form that is shown and what the user did in it. */
  renew(): Promise<void>
  /** Ends it, with `onUnload` of its forms and `onSolutionClose`. @returns once these have run */
  end(why: ClosedWhy | null): Promise<void>
  /**
   * The host goes away: what runs ends and is answered, then the connection, with this code, and the client do. Its page
   * opens another client elsewhere. @returns once all has run
   */
  move(code: number): Promise<void>
  /** What it shows now, for what looks at it without a browser. */
  readonly screen: Screen
  /** Runs an entry of its context and does what that comes to, as after an event. @returns once that is done */
  run(entry: string, args: readonly Json[]): Promise<void>
}

export type Hello = Extract<BrowserFrame, { kind: 'hello' }>

/** Why a client is over, as the code of its connection's close (RFC 6455, section 7.4.2). */
const CODES: Readonly<Record<ClosedWhy, number>> = {
  'signed-out': 4401,
  gone: 4410,
  elsewhere: 4409,
  failed: 4500,
  refused: 1008,
}
/** What left for another page, see `sign-in` and `sign-out`. */
const LEFT = 1000
/** Frames of a browser that wait for those before them; who is faster than that is no person. */
const MOST_WAITING = 300
/** So often in so many ms a client is opened anew by itself; then its scripts are what ends it. */
const MOST_REOPENED = 3
const REOPENED_WITHIN = 60_000

/**
 * @param over called once, when it takes no more browsers
 */
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
  /** Rises each time the client is opened anew: what was done in the one before does not count in it. */
  let generation = 0
  /** The generation for which the user saw that a press was lost. */
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

  /** Our own: the user is told that it did not work, and by which reference. */
  function sayFault(error: unknown): void {
    const correlationId = createCorrelationId()
    parts.onError(error, { solution: solution.name, correlationId })
    if (isOpen) sayFailed(correlationId)
    else couldNotOpen('platform.client.notopened', correlationId)
  }

  /** Something of our own begins, which the browser did not ask for and so does not wait for. */
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
      // A pause of the solution's own is no reason to try again in a moment.
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

  /** @returns whether the client goes on */
  async function openSolution(): Promise<boolean> {
    if (visitor.isLoginForm || !solution.entries.main?.includes('onSolutionOpen')) return true
    const args = [argumentOf(visitor.url), queryParams(visitor.url)]
    secrets.opened(visitor.url)
    const result = await call('onSolutionOpen', args)
    if (result.failure?.code === 'client_gone') return false
    // What it decides, such as who may come in, was not decided.
    if (result.failure !== null) couldNotOpen('platform.client.notopened', result.correlationId)
    else await apply(result)
    return !isOver && result.failure === null
  }

  /** Chosen here: a solution that names no first form begins with the first of its forms by name. */
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

  /** A client of a live host waits for the next version. */
  function giveUp(why: ClosedWhy): void {
    if (live === undefined) void end(why)
  }

  /** The process or isolate of its scripts ended: what they knew is gone, the user is not. */
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

  // --- another version, on a live host --------------------------------------------------------------------------------------

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

  /** Its users come in another way now: the page asks for itself again. */
  function reload(): void {
    goTo(visitor.page, null)
    void end(null)
  }

  /** The form that the user had is shown after what opens by itself, and what was done in it is done again. */
  async function goOnWith(work: UserWork): Promise<void> {
    const before = work.takeUp()
    if (before === null || screen.definitionOf(before.form) === null) return
    if (screen.shown !== before.form) await showForm(before.form)
    for (const event of before.events) {
      if (isOver || sandbox === null || screen.shown !== before.form) return
      await doAgain(event)
    }
  }

  /** Its handlers run as they did. What the new version does not take comes to nothing. */
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

  /** Does what a call came to, and brings the browser up to date. */
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

  /** The user stays signed in. A solution that is not there is this one. */
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
   * A press was lost with the context of its scripts. It is not repeated in the new context, where the form it was meant for starts
   * again. Reported once per context.
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

  /** The client ends with its form. */
  async function signIn({ login, ...effects }: Effects): Promise<void> {
    if (login === null) return
    const frame = signInFrame({ ...effects, login }, visitor, screen.locale, parts)
    // The page that it loads anew sets one.
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

  // --- what a user does ---------------------------------------------------------------------------------------------------

  function receive(from: Connection, frame: BrowserFrame): void {
    if (from !== outbox.connection || isOver) return
    // A browser says hello once.
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
    // The version could not be opened: what is done meanwhile is done in the next one.
    if (work !== null && !isOpen && frame.kind === 'event') work.note(frame)
    if (isLost && isPress(frame)) sayUndone()
    if (sandbox === null || !isOpen) return
    // What was meant for a form that is not shown any more comes to nothing, as a click beside it would.
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

  /** In a login form each press of a button may be a try to sign in; whose is not known before its script says so. */
  async function mayTry(): Promise<boolean> {
    const wait = await parts.throttle.count(tryOf(visitor), true)
    if (wait === null) return true
    send({ kind: 'message', text: screen.text('platform.login.throttled'), level: 'error' })
    return false
  }

  /** A primary button sends its form: what is required must be there first. Any other leaves it as it is. */
  function mayPress({ form, seq }: BrowserEvent, { element }: Place, definition: FormDefinition): boolean {
    if (element.type !== 'button' || element.kind !== 'primary') return true
    const missing = missingInputs(definition, screen.viewOf(form), screen.contextOf(form))
    const [first] = missing
    if (first === undefined) return true
    for (const name of missing) screen.views.setFault(form, name, screen.text('platform.form.missing'))
    send(...screen.patch(missing, seq), { kind: 'focus', element: first })
    return false
  }

  // --- browsers come and go -----------------------------------------------------------------------------------------------

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
    // A page that leaves closes its connection itself.
    else if (connection !== null) setTimeout(connection.close, SIGN_OUT_TIME, LEFT).unref()
    over(client)
    return enqueue(close)
  }

  async function move(code: number): Promise<void> {
    await enqueue(async () => outbox.connection?.close(code))
    await end(null)
  }

  /** The forms' `onUnload`, then `onSolutionClose`; what they command comes to nothing. */
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

/** Whose account it is for is not known: it counts for the network alone. */
function tryOf({ address }: Visitor) {
  return { source: '', username: '', address }
}
