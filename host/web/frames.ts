import { z } from '../../runtime/zod.ts'

// The protocol of a client's WebSocket: one JSON object per frame. The browser script imports its types from here.

/** Maximum characters of a value in a frame from the browser, enough for a textarea. Elements have their own limits. */
export const MAX_VALUE = 100_000
/** Maximum bytes of a frame from the browser. In JSON, each character of the value may be escaped as 6 bytes. */
export const MAX_BROWSER_FRAME = 6 * MAX_VALUE + 4096
/** Maximum rows that a frame can select: one full page. */
const MAX_ROWS = 200

const Name = z.string().min(1).max(100)
const RowId = z.union([z.string().max(1000), z.number()])
const Size = z.int().min(0).max(100_000)

const event = <Type extends string, Value extends z.ZodType>(type: Type, value: Value) =>
  z.strictObject({
    kind: z.literal('event'),
    /**
     * Starts at 1 and is incremented with each event on a page. A repeated number means that the same event was sent
     * again.
     */
    seq: z.int().min(1),
    form: Name,
    element: Name,
    type: z.literal(type),
    value,
  })

/** User actions. They are also checked against the client's view: see `isShown` and `isEnabled`. */
const BrowserEvent = z.discriminatedUnion('type', [
  /** A button or link was pressed (the value is null), or a table row was opened (the value is its id). */
  event('onAction', RowId.nullable()),
  /** The value of an input changed. It is null if the input is empty. */
  event('onElementDataChange', z.union([z.string().max(MAX_VALUE), z.number(), z.boolean(), z.null()])).extend({
    /** Whether the input shows a text that is not a number or date. Browsers don't reveal that text; the value is null. */
    isUnreadable: z.literal(true).optional(),
  }),
  event('onElementFocusGained', z.null()),
  event('onElementFocusLost', z.null()),
  event('onSort', z.strictObject({ column: Name, direction: z.enum(['ascending', 'descending']) })),
  /** Rows on the shown page were selected or deselected. With single selection, a row replaces the previous one. */
  event('onRecordSelection', z.strictObject({ rows: z.array(RowId).min(1).max(MAX_ROWS), selected: z.boolean() })),
  /** Another page of a table was requested. The platform handles this without a script handler. */
  event('showPage', z.int().min(1).max(1_000_000)),
  /** Another tab was opened; the browser already shows it. The platform handles this without a script handler. */
  event('showTab', Name),
])

/** The window was resized. Contains its new inner size in CSS pixels. Resizes are debounced. */
const Resize = z.strictObject({
  kind: z.literal('resize'),
  seq: z.int().min(1),
  form: Name,
  width: Size,
  height: Size,
})

/** The user agrees to leave the form without saving their input, see `leaving`. */
const Leave = z.strictObject({ kind: z.literal('leave'), seq: z.int().min(1), form: Name })

/** The user has confirmed their identity, see `confirm`. The proof is from the page in the iframe. */
const Confirmed = z.strictObject({ kind: z.literal('confirmed'), seq: z.int().min(1), proof: z.string().max(500) })

/** The user has closed the dialog without confirming their identity, see `confirm`. */
const Unconfirmed = z.strictObject({ kind: z.literal('unconfirmed'), seq: z.int().min(1) })

/**
 * The id of a client. It can't be guessed, but is not sufficient for access: the browser also needs the user's session,
 * or a cookie if the client has no session.
 */
const ClientId = z.string().regex(/^[A-Za-z0-9_-]{43}$/)

/** The first frame of each connection. */
const Hello = z.strictObject({
  kind: z.literal('hello'),
  /** The tab's previous client, stored across reloads; null for a new tab. */
  client: ClientId.nullable(),
  /** Identifies this page load; a reload has a new id and numbers its events from 1. */
  page: z.string().regex(/^[0-9a-f-]{36}$/),
  width: Size,
  height: Size,
})

const BrowserFrame = z.union([Hello, BrowserEvent, Resize, Leave, Confirmed, Unconfirmed])

export type BrowserFrame = z.infer<typeof BrowserFrame>
export type BrowserEvent = z.infer<typeof BrowserEvent>
export type NumberedFrame = Exclude<BrowserFrame, { kind: 'hello' }>

export type HostFrame =
  /**
   * The response to the browser's hello. `seq` is the highest event number of this page that was handled; 0 for none.
   * `isNew` means that a new client was opened, because the tab is new or its client no longer exists. Earlier work is
   * then lost, and its events are not resent. For a duplicated tab, `isNew` is false: the original client continues.
   */
  | { readonly kind: 'hello'; readonly client: string; readonly seq: number; readonly isNew: boolean }
  /** The client's sandbox process ended and the client was reopened. Unhandled events are lost. A form follows. */
  | { readonly kind: 'reopened' }
  /**
   * Only on a live host: the client switched to another version of the solution, which handles the pending events. A
   * form follows. `style` is the URL of the version's style sheet, or null.
   */
  | { readonly kind: 'renewed'; readonly style: string | null }
  /** Only on a live host: replaces the report of `solhost dev` above the page. */
  | { readonly kind: 'dev'; readonly report: DevReport }
  /** Changed elements. They include the effects of all events up to `seq`. */
  | { readonly kind: 'patch'; readonly seq: number; readonly changes: readonly Change[] }
  /** The shown form; sent again after a reconnect or a language change. */
  | { readonly kind: 'form'; readonly seq: number; readonly html: string; readonly title: string }
  | { readonly kind: 'message'; readonly text: string; readonly level: MessageLevel }
  /** Focuses an element's control: the first input that the user must fill in before submitting the form. */
  | { readonly kind: 'focus'; readonly element: string }
  /**
   * A button press in the form shows another form, but this one has unsaved input. The page asks the user, and sends
   * `leave` if they agree.
   */
  | { readonly kind: 'leaving' }
  /**
   * A script requires the user to confirm their identity. The page shows the platform's page at this path in an iframe,
   * and sends `confirmed` or `unconfirmed`.
   */
  | { readonly kind: 'confirm'; readonly href: string }
  /** Work is running that wasn't started by an event from this browser. */
  | { readonly kind: 'busy' }
  /** All events up to `seq` are handled, and nothing is running. */
  | { readonly kind: 'idle'; readonly seq: number }
  /**
   * Navigates to another URL, which has already been checked (http, https, mailto or a path on the same server).
   */
  | { readonly kind: 'go'; readonly href: string; readonly target?: string }
  /** A login form signed a user in: the page posts the token to its own URL, which creates the session. */
  | { readonly kind: 'sign-in'; readonly token: string }
  /** A script signs the user out: the page posts the token to the solution's logout. It includes the next page. */
  | { readonly kind: 'sign-out'; readonly token: string }
  /** The client ended. The browser shows why and does not reconnect. */
  | { readonly kind: 'closed'; readonly why: ClosedWhy }

/** The report that `solhost dev` shows above the page. The sender limits the number and length of all texts. */
export type DevReport = {
  readonly faults: readonly DevFinding[]
  readonly warnings: readonly DevFinding[]
  /** Lines of the solution's log, oldest first. */
  readonly lines: readonly DevLine[]
}
export type DevFinding = {
  /** `file:line:column`, or the parts of it that are known. */
  readonly place: string
  readonly code: string
  readonly message: string
  readonly source: null | {
    readonly lines: readonly { readonly number: number; readonly text: string }[]
    /** The number of the line with the error. */
    readonly line: number
    /** Number of characters before the error in that line. */
    readonly caret: number | null
  }
  readonly advice: string | null
}
export type DevLine = {
  /** Epoch ms. */
  readonly time: number
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly place: string
  readonly text: string
}

/** Markup that replaces the element with this id. */
export type Change = { readonly id: string; readonly html: string }
export type MessageLevel = 'info' | 'success' | 'warning' | 'error'
export const CLOSED_WHY = ['signed-out', 'gone', 'elsewhere', 'failed', 'refused'] as const
export type ClosedWhy = (typeof CLOSED_WHY)[number]

/**
 * Parses a frame from the browser.
 * @param text at most `MAX_BROWSER_FRAME` bytes; the connection accepts no more
 * @returns null if it is invalid
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
