import type { Messages } from '../../../base/bundles/messages.ts'
import { platformText } from '../../../base/web/texts.ts'

export interface RenderContext {
  readonly form: string
  /** A BCP 47 tag, such as `nl-BE`. */
  readonly locale: string
  /** The locale for dates and numbers. It is `locale`; if that has no region, the browser's region is added. */
  readonly formats?: string | undefined
  /** Looks up a text: first in the solution's texts, then in the platform's. */
  readonly messages: Messages
  /** The user's permissions. Elements and tabs that require other permissions are omitted. */
  readonly permissions: ReadonlySet<string>
  /** Whether elements have the attribute `data-cy`, which `PLATFORM_TESTING_MODE` turns on. */
  readonly isTesting: boolean
  /** The base URL of the solution's media, such as `/solution/orders/media/`. */
  readonly mediaBase: string
  /** On a live host: part of media URLs, so that browsers load the files of this version. */
  readonly mediaVersion?: string
  /**
   * The events that scripts listen to in addition to the form's own handlers (`eventsManager`), such as
   * `onElementFocusGained`. Browsers send focus and row events only if something listens to them.
   */
  readonly listenedEvents?: ReadonlySet<string>
}

export function formatsOf({ locale, formats = locale }: RenderContext): string {
  return formats
}

/** Resolves a text. `i18n:orders.title` is looked up. If no table has the key, the result is `!orders.title!`. */
export function shownText({ messages }: RenderContext, text: string | null | undefined): string {
  if (!text?.startsWith('i18n:')) return text ?? ''
  const key = text.slice('i18n:'.length)
  return messages(key) ?? `!${key}!`
}

/** One of the platform's texts, which a solution can override by key. */
export function ownText(
  { locale, messages }: RenderContext,
  key: string,
  values: readonly (string | number)[] = [],
): string {
  const text = messages(key)
  if (text === null) return platformText(locale, key, values)
  return text.replace(/\{(\d+)\}/g, (placeholder, place) => String(values[Number(place)] ?? placeholder))
}
