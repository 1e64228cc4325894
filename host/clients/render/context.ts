import type { Messages } from '../../../base/bundles/messages.ts'
import { platformText } from '../../../base/web/texts.ts'

/** For whom and how a form is rendered. */
export interface RenderContext {
  /** The form's name. */
  readonly form: string
  /** A BCP 47 tag, such as `nl-BE`. */
  readonly locale: string
  /** The locale of dates and numbers: `locale`, with the browser's region if it has none. */
  readonly formats?: string | undefined
  /** Texts of the solution, then of the platform. */
  readonly messages: Messages
  /** Of the user: elements and tabs with another permission are absent. */
  readonly permissions: ReadonlySet<string>
  /** `PLATFORM_TESTING_MODE`: elements carry `data-cy`. */
  readonly isTesting: boolean
  /** The address of the solution's media, such as `/solution/orders/media/`. */
  readonly mediaBase: string
  /** Of a live host: stands in addresses of media, so that a browser asks for those of this version. */
  readonly mediaVersion?: string
  /**
   * Events that a script of the client listens to besides the form's own functions (`eventsManager`), such as
   * `onElementFocusGained`: a browser tells of focus and opened rows only where somebody asks.
   */
  readonly listenedEvents?: ReadonlySet<string>
}

export function formatsOf({ locale, formats = locale }: RenderContext): string {
  return formats
}

/** A text as the user reads it: `i18n:orders.title` is looked up, an unknown key becomes `!orders.title!`. */
export function shownText({ messages }: RenderContext, text: string | null | undefined): string {
  if (!text?.startsWith('i18n:')) return text ?? ''
  const key = text.slice('i18n:'.length)
  return messages(key) ?? `!${key}!`
}

/** One of the platform's own texts, which a solution may replace by its key. */
export function ownText(
  { locale, messages }: RenderContext,
  key: string,
  values: readonly (string | number)[] = [],
): string {
  const text = messages(key)
  if (text === null) return platformText(locale, key, values)
  return text.replace(/\{(\d+)\}/g, (placeholder, place) => String(values[Number(place)] ?? placeholder))
}
