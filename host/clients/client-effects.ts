import type { Effects, SolutionPage } from '../../base/bundles/host-call.ts'
import { createCorrelationId } from '../../base/http/correlation.ts'
import type { Tenant } from '../../plugins/security/host.ts'
import type { Json } from '../../runtime/plugin.ts'
import { pageOfSolution } from '../login/sign-out-target.ts'
import type { ClosedWhy } from '../web/frames.ts'
import type { CallEntry, EntryResult } from './client-entries.ts'
import type { ClientNotices } from './client-notices.ts'
import type { ClientState } from './client-state.ts'
import { createMainThreadShare } from './main-thread-share.ts'
import { signInFrame, signOutFrame } from './sign-frames.ts'
import { tryOf } from './visitor.ts'

/**
 * Applies the effects of a call's scripts: changes to forms, texts and the session, timers, signing in or out, and
 * opening another page.
 */
export interface ClientEffects {
  /**
   * Applies the effects of a call and updates the browser.
   * @param isCounted whether the call was counted as a sign-in attempt
   */
  apply(result: EntryResult, isCounted?: boolean): Promise<void>
  showForm(form: string | null): Promise<void>
  /** Runs an entry function that the browser did not request, and applies its effects. */
  run(entry: string, args: readonly Json[]): Promise<void>
}

export function createClientEffects(
  state: ClientState,
  call: CallEntry,
  { sayFailed, goTo, asBusy }: ClientNotices,
  end: (why: ClosedWhy | null) => Promise<void>,
): ClientEffects {
  const { parts, outbox, secrets, timers, work } = state
  const { send } = outbox
  const share = createMainThreadShare()

  async function apply({ failure, effects, correlationId }: EntryResult, isCounted = false): Promise<void> {
    if (failure?.code === 'client_gone') return
    if (failure !== null) sayFailed(correlationId, failure.code === 'sandbox_busy' ? 'platform.client.busy' : undefined)
    await share.ready()
    await state.screen.sortAhead(effects, share.spend)
    takeIn(effects)
    const frames = share.spend(() => state.screen.apply(effects, state.handled))
    if (state.isOpen) send(...frames)
    timers.apply(effects)
    askToLeave(effects)
    await keepSession(effects)
    if (state.visitor.isLoginForm) return isCounted ? signIn(effects) : undefined
    if (effects.logout !== null) return leave(effects)
    if (effects.showUrl !== null) goTo(effects.showUrl, effects.showUrlTarget)
    else if (effects.close !== undefined) await closeFor(effects.close)
  }

  /** Records what scripts changed before the screen shows it: texts, secrets in forms, and missing text keys. */
  function takeIn(effects: Effects): void {
    const { overrides, screen, solution } = state
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
  }

  function askToLeave({ leaving }: Effects): void {
    if (leaving === undefined) return
    state.leaving = leaving
    send({ kind: 'leaving' })
  }

  async function keepSession({ tenant, locale }: Effects): Promise<void> {
    const { found } = state.visitor
    if (found === null || state.user === null || (tenant === null && locale === null)) return
    if (tenant !== null) state.user = { ...state.user, tenant }
    if (locale !== null) state.visitor = { ...state.visitor, locale }
    await parts.sessions.change(state.solution.name, found.cookie, {
      ...(tenant === null ? {} : { tenant: tenant as Tenant }),
      ...(locale === null ? {} : { locale }),
    })
  }

  /**
   * Sends the page the data that it needs to sign the user in. Then ends this client, because it only shows the login
   * form.
   */
  async function signIn({ login, ...effects }: Effects): Promise<void> {
    if (login === null) return
    const frame = signInFrame({ ...effects, login }, state.visitor, state.screen.locale, parts)
    // Without the browser cookie, the sign-in can't finish. Reloading the page sets the cookie.
    if (frame === null) return sayFailed(createCorrelationId(), 'platform.login.expired')
    await parts.throttle.succeeded(tryOf(state.visitor), true)
    send(frame)
    void end(null)
  }

  async function leave({ logout, ...effects }: Effects): Promise<void> {
    if (logout === null) return
    if (state.visitor.found !== null) parts.lateSignOuts.add(state.visitor)
    const frame = await signOutFrame({ ...effects, logout }, state.visitor, parts)
    if (frame !== null) send(frame)
    if (state.visitor.found !== null) void end(null)
  }

  /**
   * Opens another solution and ends this client. The user stays signed in. If the other solution does not exist, the
   * page opens this one again.
   */
  async function closeFor({ solution: name, argument }: SolutionPage): Promise<void> {
    const page = (of: string | null) => pageOfSolution({ solution: of, argument }, state.visitor.client, parts)
    const href = (await page(name)) ?? (await page(state.solution.name))
    if (href === null) return
    goTo(href, null)
    void end(null)
  }

  return {
    apply,
    async showForm(form) {
      if (form !== null && !state.isOver) await apply(await call('forms.show', [form]))
    },
    async run(entry, args) {
      if (state.isOver || state.sandbox === null) return
      await asBusy(async () => apply(await call(entry, args)))
    },
  }
}
