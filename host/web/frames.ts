import { z } from '../../runtime/zod.ts'

// What goes over a client's WebSocket: one JSON object a frame. The browser's script takes its types from here, so this
// file is the whole protocol.

/** Characters of a value that a browser sends; a textarea may hold so many. Elements check their own limits. */
export const MAX_VALUE = 100_000
/** Bytes of a frame of a browser: a value whose characters all are escaped, and the names around it. */
export const MAX_BROWSER_FRAME = 6 * MAX_VALUE + 4096
/** Rows that one frame selects: as many as a page has. */
const MAX_ROWS = 200

const Name = z.string().min(1).max(100)
const RowId = z.union([z.string().max(1000), z.number()])
const Size = z.int().min(0).max(100_000)

const event = <Type extends string, Value extends z.ZodType>(type: Type, value: Value) =>
  z.strictObject({
    kind: z.literal('event'),
    /** Rises by one with each event of a page, from 1. The same number again is the same event, sent once more. */
    seq: z.int().min(1),
    form: Name,
    element: Name,
    type: z.literal(type),
    value,
  })

/** What a user did. Each is checked against the client's view as well: see `isShown` and `isEnabled`. */
const BrowserEvent = z.discriminatedUnion('type', [
  /** A button or link was pressed (null), or a row of a table was opened (its id). */
  event('onAction', RowId.nullable()),
  /** An input's new value; null where it is empty or cannot be read as number or date. */
  event('onElementDataChange', z.union([z.string().max(MAX_VALUE), z.number(), z.boolean(), z.null()])),
  event('onElementFocusGained', z.null()),
  event('onElementFocusLost', z.null()),
  event('onSort', z.strictObject({ column: Name, direction: z.enum(['ascending', 'descending']) })),
  /** Rows of the shown page that became selected or not; in a table of single selection one takes the place of another. */
  event('onRecordSelection', z.strictObject({ rows: z.array(RowId).min(1).max(MAX_ROWS), selected: z.boolean() })),
  /** The platform's own, without a handler: another page of a table. */
  event('showPage', z.int().min(1).max(1_000_000)),
  /** The platform's own, without a handler: another tab; it is open in the browser already. */
  event('showTab', Name),
])

/** The window's inner size in CSS pixels, when it changed; several at once become one. */
const Resize = z.strictObject({
  kind: z.literal('resize'),
  seq: z.int().min(1),
  form: Name,
  width: Size,
  height: Size,
})

/** Names a client. Nobody guesses one; who has another's still needs that one's session, or without one its browser's cookie. */
const ClientId = z.string().regex(/^[A-Za-z0-9_-]{43}$/)

/** The first frame of each connection. */
const Hello = z.strictObject({
  kind: z.literal('hello'),
  /** The client that this tab had last, which it keeps for a reload; null for a new tab. */
  client: ClientId.nullable(),
  /** Names this load of the page; a reload has a new one, and numbers its events from 1. */
  page: z.string().regex(/^[0-9a-f-]{36}$/),
  width: Size,
  height: Size,
})

const BrowserFrame = z.union([Hello, BrowserEvent, Resize])

export type BrowserFrame = z.infer<typeof BrowserFrame>
export type BrowserEvent = z.infer<typeof BrowserEvent>
export type NumberedFrame = Exclude<BrowserFrame, { kind: 'hello' }>

export type HostFrame =
  /**
   * The answer to the browser's hello. `seq`: the highest number of an event of this page that was handled, 0 for none.
   * `isNew`: the client that the browser named is no more, and another was opened: what was done in it is lost and not
   * sent again. So it is of a new tab, but not of a copied one, whose original goes on.
   */
  | { readonly kind: 'hello'; readonly client: string; readonly seq: number; readonly isNew: boolean }
  /** The client's sandbox process ended: it was opened anew, and what was not handled is lost. A form follows. */
  | { readonly kind: 'reopened' }
  /**
   * Only from a live host: the client goes on in another version of the solution, whose form follows. What was not handled
   * is handled there. `style`: the address of its style sheet, null where it has none.
   */
  | { readonly kind: 'renewed'; readonly style: string | null }
  /** Elements that changed. `seq`: the last event whose effects are in it. */
  | { readonly kind: 'patch'; readonly seq: number; readonly changes: readonly Change[] }
  /** The form that is shown now, or the same form anew: after a reconnect, or in another language. */
  | { readonly kind: 'form'; readonly seq: number; readonly html: string; readonly title: string }
  | { readonly kind: 'message'; readonly text: string; readonly level: MessageLevel }
  /** The element's control gets the focus: the first that has to be put right before the form can be sent. */
  | { readonly kind: 'focus'; readonly element: string }
  /** Something runs that no event of this browser began. */
  | { readonly kind: 'busy' }
  /** All events up to `seq` are handled, and nothing runs. */
  | { readonly kind: 'idle'; readonly seq: number }
  /** The browser goes to another address: one that was checked (http, https, mailto or a path of the same server). */
  | { readonly kind: 'go'; readonly href: string; readonly target?: string }
  /** A login form signed somebody in: the page posts the token to its own address, which makes the session. */
  | { readonly kind: 'sign-in'; readonly token: string }
  /** A script signs the user out: the page posts the token, which says where to go on, to the solution's logout. */
  | { readonly kind: 'sign-out'; readonly token: string }
  /** The client is over; the browser says why and does not connect again. */
  | { readonly kind: 'closed'; readonly why: ClosedWhy }

/** Markup that takes the place of the tag with this id. */
export type Change = { readonly id: string; readonly html: string }
export type MessageLevel = 'info' | 'success' | 'warning' | 'error'
/** Why a client is over. */
export const CLOSED_WHY = ['signed-out', 'gone', 'elsewhere', 'failed', 'refused'] as const
export type ClosedWhy = (typeof CLOSED_WHY)[number]

/**
 * A frame of a browser.
 * @param text at most `MAX_BROWSER_FRAME` bytes: the connection does not take more
 * @returns null where it is none
 */
export function readBrowserFrame(text: string): BrowserFrame | null {
  if (text.length > MAX_BROWSER_FRAME) return null
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return null
  }
  const frame = BrowserFrame.safeParse(json)
  return frame.success ? frame.data : null
}
