import { setImmediate } from 'node:timers/promises'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Effects } from '../../base/bundles/host-call.ts'
import { createMessages, type Messages } from '../../base/bundles/messages.ts'
import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import type { Change, HostFrame } from '../web/frames.ts'
import { createFormViews, type FormViews } from './form-views.ts'
import { ownText, type RenderContext } from './render/context.ts'
import { type RenderedForm, renderElement, renderForm } from './render/form.ts'
import { renderNoForm, renderNotice, type ShownUser } from './render/no-form.ts'
import { isPermitted, outlineOf, stateOf } from './render/outline.ts'
import { renderTexts, renderTop, type ShellModel } from './render/shell.ts'
import { sortAhead } from './render/table-rows.ts'
import type { ElementState, FormView } from './view.ts'

/** The host's model of what one client shows. It creates the frames that update the browser. */
export interface Screen {
  /** The name of the shown form; null before the first form. */
  readonly shown: string | null
  /** Whether the form is shown, or was shown before. */
  hasShown(form: string): boolean
  readonly locale: string
  /** Changes the language without a script. Afterwards, send `language` and `whole` to the browser. */
  changeLocale(locale: string): void
  readonly views: FormViews
  /** @returns null if there is no such form */
  definitionOf(form: string): FormDefinition | null
  contextOf(form: string): RenderContext
  viewOf(form: string): FormView
  text(key: string, values?: readonly (string | number)[]): string
  /**
   * Sorts the large tables that a call's effects change, one per turn of the event loop. `apply` then finds them sorted.
   * @param spend does the work for one table
   */
  sortAhead(effects: Effects, spend: (work: () => boolean) => boolean): Promise<void>
  /**
   * Applies the effects of a call.
   * @returns the frames for a browser that has received all earlier ones
   */
  apply(effects: Effects, seq: number): HostFrame[]
  /** The whole shown form, for a browser that has just connected or is out of sync. */
  whole(seq: number): HostFrame
  /**
   * Changes the errors that the host found in the shown form.
   * @returns updates for the named elements, or the whole form if it has unsaved input only now, or no longer
   */
  changeFaults(names: readonly string[], seq: number, change: () => void): HostFrame[]
  /** Updates for the named elements of the shown form. */
  patch(names: readonly string[], seq: number): HostFrame[]
  /** Updates the parts of the page around the form, in the client's current language. */
  language(seq: number): HostFrame
}

export type ScreenParts = {
  readonly solution: ActiveSolution
  readonly locale: string
  /** Returns `RenderContext.formats` for a locale. Scripts can change the locale later. */
  readonly formatsOf?: (locale: string) => string
  readonly user: ShownUser | null
  /** The user shown in the bar above the form, see `ShellModel`. */
  readonly account: () => ShellModel['user']
  readonly isTesting: boolean
  /** Whether this is a live host, see `Live`. */
  readonly isLive?: boolean
  /** Called on every lookup of a key that no text table has. */
  readonly missing: (key: string, locale: string) => void
  /** Texts that scripts set in this client, see `i18n.setI18NMessage`. */
  readonly overrides: ReadonlyMap<string, string>
}

/** If more elements than this change together, the whole form is sent. The browser processes it just as fast. */
const MOST_CHANGES = 40

export function createScreen(parts: ScreenParts): Screen {
  const { solution, user, account, isTesting } = parts
  const { definitions } = solution.facts
  const permissions: ReadonlySet<string> = new Set(user?.permissions ?? [])
  const ofMedia = {
    mediaBase: `/solution/${solution.name}/media/`,
    ...(parts.isLive ? { mediaVersion: solution.facts.sha256.slice(0, 16) } : {}),
  }
  const views = createFormViews()
  let { locale } = parts
  let messages = messagesOf(parts, locale)
  let listenedEvents: ReadonlySet<string> = new Set()
  let shown: string | null = null
  const everShown = new Set<string>()

  function contextOf(form: string): RenderContext {
    return {
      form,
      locale,
      formats: parts.formatsOf?.(locale),
      messages,
      permissions,
      isTesting,
      ...ofMedia,
      listenedEvents,
    }
  }

  function changeLocale(next: string): void {
    locale = next
    messages = messagesOf(parts, locale)
  }

  function render(): RenderedForm {
    const context = contextOf(shown ?? '')
    const definition = shown === null ? undefined : definitions.get(shown)
    if (shown === null || definition === undefined) return renderNoForm(solution.title, user, context)
    const form = renderForm(definition, views.of(shown), context)
    return form ?? renderNotice(solution.title, ownText(context, 'platform.client.noaccess'), context)
  }

  function whole(seq: number): HostFrame {
    return { kind: 'form', seq, ...render() }
  }

  function language(seq: number): HostFrame {
    const changes = [
      { id: 'client-top', html: renderTop(locale, solution.title, account()).text },
      { id: 'client-texts', html: renderTexts(locale).text },
    ]
    return { kind: 'patch', seq, changes }
  }

  function hasUnsaved(): boolean {
    const definition = shown === null ? undefined : definitions.get(shown)
    return definition?.saves !== undefined && views.of(shown ?? '').unsaved === true
  }

  function changeFaults(names: readonly string[], seq: number, change: () => void): HostFrame[] {
    const wasUnsaved = hasUnsaved()
    change()
    return hasUnsaved() === wasUnsaved ? patch(names, seq) : [whole(seq)]
  }

  function patch(names: readonly string[], seq: number): HostFrame[] {
    const definition = shown === null ? undefined : definitions.get(shown)
    if (shown === null || definition === undefined || names.length === 0) return []
    if (names.length > MOST_CHANGES) return [whole(seq)]
    const context = contextOf(shown)
    // If the user has no permission for the form, don't send any part of it.
    if (!isPermitted(definition, context)) return []
    const view = views.of(shown)
    const changes = outermost(definition, names)
      .map((name): Change | null => renderElement(definition, view, context, name))
      .filter((change) => change !== null)
    return changes.length === 0 ? [] : [{ kind: 'patch', seq, changes }]
  }

  return {
    get shown() {
      return shown
    },
    hasShown: (form) => everShown.has(form),
    get locale() {
      return locale
    },
    changeLocale,
    views,
    definitionOf: (form) => definitions.get(form) ?? null,
    contextOf,
    viewOf: (form) => views.of(form),
    text: (key, values) => ownText(contextOf(''), key, values),
    async sortAhead({ form, formUpdates = [], locale: next }, spend) {
      const name = form ?? shown
      const definition = name === null ? undefined : definitions.get(name)
      if (name === null || definition === undefined) return
      const updates = formUpdates.filter((update) => update.form === name)
      for (const { element } of outlineOf(definition).values()) {
        if (element.type !== 'table') continue
        const changes = updates.map(({ elements }) => elements[element.name])
        const state: ElementState = Object.assign({}, stateOf(views.of(name), element.name), ...changes)
        if (!(state.visible ?? element.visible)) continue
        if (spend(() => sortAhead(element, state, next ?? locale))) await setImmediate()
      }
    },
    apply(effects, seq) {
      const { formUpdates = [], form, listening } = effects
      const wasUnsaved = hasUnsaved()
      for (const update of formUpdates) views.apply(update)
      if (listening !== undefined) listenedEvents = new Set(listening)
      const isOtherForm = form !== null && form !== shown
      if (form !== null) {
        if (isOtherForm) views.clearFaults(form)
        shown = form
        everShown.add(form)
      }
      const isOtherLanguage = effects.locale !== null && effects.locale !== locale
      if (isOtherLanguage || effects.messagesChanged === true) changeLocale(effects.locale ?? locale)
      const own = formUpdates.filter((update) => update.form === shown)
      const isAllAnew =
        isOtherForm ||
        isOtherLanguage ||
        effects.messagesChanged === true ||
        listening !== undefined ||
        hasUnsaved() !== wasUnsaved ||
        own.some(({ title }) => title !== undefined)
      const names = [...new Set(own.flatMap(({ elements }) => Object.keys(elements)))]
      return [...(isOtherLanguage ? [language(seq)] : []), ...(isAllAnew ? [whole(seq)] : patch(names, seq))]
    },
    whole,
    changeFaults,
    patch,
    language,
  }
}

function messagesOf({ solution, overrides, missing }: ScreenParts, locale: string): Messages {
  const find = createMessages(solution.texts, locale, overrides)
  return (key) => {
    const text = find(key)
    // The platform first looks up its own keys in the solution's table. It is normal that they are missing there.
    if (text === null && !key.startsWith('platform.')) missing(key, locale)
    return text
  }
}

/** Drops elements that are inside another changed element, because a panel is sent with its content. */
function outermost(definition: FormDefinition, names: readonly string[]): readonly string[] {
  const wanted = new Set(names)
  const outline = outlineOf(definition)
  return names.filter((name) => {
    for (let around = outline.get(name)?.around; around; around = around.place.around) {
      if (wanted.has(around.place.element.name)) return false
    }
    return true
  })
}
