import { timeFormat } from '../time-format.ts'
import { askUnattended } from './api.ts'
import { dataOfEvents } from './event-data.ts'

type LogLine = {
  readonly time: number
  readonly level: string
  readonly message: string
  readonly code?: string
  readonly file?: string
  readonly line?: number
  readonly column?: number
  readonly correlationId?: string
}

type LiveLog = {
  /** The log's URL, with the page's filter. */
  readonly address: string
  /** The element with the status texts. */
  readonly bar: HTMLElement
  readonly rows: HTMLElement
  /** Aborts the running stream; null while paused. */
  following: AbortController | null
  /** The number of lines received since the last announcement. */
  untold: number
}

/** Maximum rows on the page; the oldest are removed. */
const MOST_ROWS = 500
/** Delay before reconnecting, in ms. */
const TRY_AGAIN = 2000
/** Minimum interval in ms between announcements of new lines, since a screen reader reads each announcement aloud. */
const TELL_EVERY = 5000

/** Streams new lines of a solution's log into a page that shows the newest ones, newest first. */
export function followLiveLog(): void {
  const bar = document.querySelector<HTMLElement>('[data-log]')
  const rows = document.getElementById('log-rows')
  const button = bar?.querySelector('button')
  if (!bar || !rows || !button) return
  const live: LiveLog = { address: bar.dataset.log ?? '', bar, rows, following: null, untold: 0 }
  button.addEventListener('click', () => {
    if (live.following === null) void follow(live)
    else pause(live)
    button.textContent = bar.dataset[live.following === null ? 'resume' : 'pause'] ?? ''
  })
  setInterval(tellNews, TELL_EVERY, live)
  bar.hidden = false
  void follow(live)
}

function pause(live: LiveLog): void {
  live.following?.abort()
  live.following = null
  showLogState(live, 'paused')
}

async function follow(live: LiveLog): Promise<void> {
  const mine = new AbortController()
  live.following = mine
  showLogState(live, 'connecting')
  while (!mine.signal.aborted) {
    // A stream that failed is handled like one that ended: the page shows that the connection was lost.
    const refusal = await readStream(live, mine.signal).catch(() => null)
    if (mine.signal.aborted) return
    showLogState(live, 'lost', refusal?.reason)
    await new Promise((resolve) => setTimeout(resolve, refusal?.wait ?? TRY_AGAIN))
  }
}

/** A rejected stream. `wait` is the time before the next attempt, in ms. */
type Refusal = { readonly reason: string; readonly wait: number }

/**
 * Reads the stream until the connection ends. @returns why the server rejected the stream, if too many are already
 * open; otherwise null
 */
async function readStream(live: LiveLog, signal: AbortSignal): Promise<Refusal | null> {
  const answer = await askUnattended(live.address.replace(/&?limit=\d+/, ''), { Accept: 'text/event-stream' }, signal)
  if (answer.status === 429) return refusalOf(answer)
  if (!answer.ok || answer.body === null) return null
  const newest = await askUnattended(live.address, { Accept: 'application/json' }, signal)
  if (!newest.ok) {
    await answer.body.cancel()
    return null
  }
  const known = ((await newest.json()) as { items: readonly LogLine[] }).items
  showNewest(live, known)
  showLogState(live, 'following')
  // A line that is written between the two requests is in both responses.
  const shown = new Set(known.map((line) => JSON.stringify(line)))
  for await (const line of dataOfEvents(answer.body)) {
    if (shown.delete(JSON.stringify(line))) continue
    addLine(live, line as LogLine)
  }
  return null
}

async function refusalOf(answer: Response): Promise<Refusal> {
  const { detail = '' } = (await answer.json()) as { detail?: string }
  return { reason: detail, wait: 1000 * (Number(answer.headers.get('Retry-After')) || 30) }
}

/** Replaces the rows, to include lines written while the stream was down. */
function showNewest({ rows }: LiveLog, known: readonly LogLine[]): void {
  // If a row has the focus, replacing the rows would lose it.
  if (known.length === 0 || rows.contains(document.activeElement)) return
  rows.replaceChildren(...known.map(rowOf).reverse())
  showRows()
}

function addLine(live: LiveLog, line: LogLine): void {
  live.rows.prepend(rowOf(line))
  while (live.rows.childElementCount > MOST_ROWS) live.rows.lastElementChild?.remove()
  live.untold++
  showRows()
}

function showRows(): void {
  document.getElementById('log-card')?.removeAttribute('hidden')
  document.getElementById('log-empty')?.setAttribute('hidden', '')
}

/** Fills in the row template that the server rendered. */
function rowOf(given: LogLine): Node {
  const { time, level, message, code, file, line, column, correlationId } = given
  const template = document.getElementById('log-row') as HTMLTemplateElement
  const row = document.importNode(template.content, true)
  const at = row.querySelector<HTMLTimeElement>('.log-time')
  if (at !== null) at.dateTime = new Date(time).toISOString()
  fill(row, '.log-time', timeText(time))
  fill(row, '.log-level', levelText(level))
  row.querySelector('.log-level')?.setAttribute('class', `log-level log-${level}`)
  fill(row, '.log-message', message)
  fillPlace(row, file, line, column)
  fill(row, '.log-code', code ?? '')
  fill(row, '.log-reference code', correlationId ?? '')
  const reference = row.querySelector<HTMLAnchorElement>('.log-reference')
  if (reference !== null) {
    reference.hidden = correlationId === undefined
    reference.search = `?correlationId=${correlationId ?? ''}`
  }
  for (const place of row.querySelectorAll<HTMLElement>('[data-field]')) fillField(place, given)
  return row
}

/** On the host, the position links to the file in the workbench. */
function fillPlace(row: DocumentFragment, file?: string, line?: number, column?: number): void {
  const text = [file, line, column].filter((part) => part !== undefined).join(':')
  const link = row.querySelector<HTMLAnchorElement>('a.log-place')
  fill(row, link === null ? '.log-place' : '.log-place code', text)
  if (link === null) return
  link.hidden = text === ''
  link.search = `?${new URLSearchParams({ file: file ?? '', line: String(line ?? '') })}`
}

/**
 * Shows the additional property of the line that `data-field` names. The URL of a link is `data-below` followed by the
 * value.
 */
function fillField(place: HTMLElement, line: object): void {
  const value = (line as Readonly<Record<string, unknown>>)[place.dataset.field ?? '']
  place.textContent = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
  if (place instanceof HTMLAnchorElement) place.href = `${place.dataset.below ?? ''}${place.textContent}`
  const holder = place.closest<HTMLElement>('dl > div') ?? place
  holder.hidden = value === undefined
}

function fill(row: DocumentFragment, selector: string, text: string): void {
  const place = row.querySelector<HTMLElement>(selector)
  if (place === null) return
  place.textContent = text
  place.hidden = text === ''
}

/** Formats a time as the server does. */
function timeText(time: number): string {
  return timeFormat(document.documentElement.lang, 'second').format(time)
}

function levelText(level: string): string {
  return document.querySelector<HTMLElement>('table.log')?.dataset[level] ?? level
}

function showLogState(
  { bar }: LiveLog,
  state: 'connecting' | 'following' | 'paused' | 'lost',
  reason = bar.dataset[state],
): void {
  const place = bar.querySelector('.log-state')
  const text = reason ?? ''
  if (place !== null && place.textContent !== text) place.textContent = text
  bar.dataset.state = state
}

function tellNews(live: LiveLog): void {
  if (live.untold === 0) return
  const place = live.bar.querySelector('.log-news')
  if (place !== null) place.textContent = (live.bar.dataset.news ?? '').replace('{0}', String(live.untold))
  live.untold = 0
}
