import { setTimeout as wait } from 'node:timers/promises'
import { SOLHOST } from '../../base/program/program-name.ts'
import { CommandError, command } from '../../base/terminal/command.ts'
import { jsonText, type Terminal } from '../../base/terminal/terminal.ts'
import { parsedJson } from '../../runtime/json.ts'
import { z } from '../../runtime/zod.ts'
import { authorization, HOST_NOTES, HOST_OPTIONS, HOST_URL, hostWords, readHostAddress } from '../credentials.ts'
import { createHostApi, type HostApi } from '../host-api.ts'
import { LogLine, logLineText } from '../log-line-text.ts'
import { refuse } from '../refusals.ts'

const Page = z.object({ items: z.array(LogLine) })

const LINES = 50
const MOST_LINES = 1000
/** Reconnect delay in ms: starts at the first value and doubles up to the last. */
const COME_BACK = { first: 1000, last: 30_000 }

export const logsCommand = command({
  summary: 'show a solution’s log: script output and errors',
  arguments: {
    name: { what: 'name of the solution' },
    url: HOST_URL,
  },
  options: {
    follow: { type: 'boolean', short: 'f', what: 'show new lines as they are written, until you press Ctrl+C' },
    lines: {
      type: 'string',
      short: 'n',
      value: '<number>',
      what: `number of recent lines to show (default: ${LINES})`,
    },
    ...HOST_OPTIONS,
    json: { type: 'boolean', what: 'print one JSON object per line' },
  },
  notes: () => HOST_NOTES,
  async run({ arguments: { name, url: address }, options }, terminal) {
    const url = readHostAddress(address, options['allow-http'] === true)
    const count = readCount(options.lines)
    const api = createHostApi(url, await authorization(options.user, terminal))
    const log = { api, url, name, path: `/admin/api/solutions/${encodeURIComponent(name)}/log` }
    const show = (line: LogLine) =>
      terminal.out(options.json === true ? jsonText(line, true) : logLineText(line, terminal))
    if (options.follow === true) return follow(log, count, show, terminal)
    const lines = await newest(log, count)
    for (const line of lines) show(line)
    const next = `${logsLine(name, url, options.user)} -f`
    if (options.json !== true) {
      terminal.err(
        lines.length === 0 ? `The log for ${name} is empty. To wait for new lines, run ${next}\n` : `Next: ${next}\n`,
      )
    }
    return 'done'
  },
})

/** The command that shows a log, ready to be pasted into a shell. */
export function logsLine(name: string, url: URL, user: string | undefined): string {
  return `${SOLHOST} logs ${name} ${hostWords(url, { user })}`
}

type Log = { readonly api: HostApi; readonly url: URL; readonly name: string; readonly path: string }

async function newest({ api, url, name, path }: Log, count: number): Promise<LogLine[]> {
  const answer = await api.get(`${path}?limit=${Math.max(1, count)}`)
  const page = Page.safeParse(answer.body)
  if (answer.status !== 200 || !page.success) refuse(answer, url, name)
  return count === 0 ? [] : page.data.items
}

/**
 * Never returns: reconnects when the host becomes unreachable. Throws if the first connection fails or the host denies
 * access.
 */
async function follow(log: Log, count: number, show: (line: LogLine) => void, terminal: Terminal): Promise<never> {
  let last = 0
  const showLast = (line: LogLine) => {
    last = Math.max(last, line.time)
    show(line)
  }
  let pause = COME_BACK.first
  for (let isFirst = true; ; isFirst = false) {
    let isThere = false
    const onThere = () => {
      if (!isFirst) terminal.err('Reconnected to the host.\n')
      isThere = true
    }
    try {
      // After a reconnect, skips lines up to the last line that was shown.
      await followOnce(log, isFirst ? count : MOST_LINES, last, onThere, showLast)
    } catch (error) {
      const isAway = error instanceof CommandError && error.exit === 'unreachable'
      if (!isAway || (isFirst && !isThere)) throw error
    }
    if (isThere) pause = COME_BACK.first
    terminal.err(`The connection to the host was lost. Retrying in ${pause / 1000} s. Press Ctrl+C to stop.\n`)
    await wait(pause)
    pause = Math.min(2 * pause, COME_BACK.last)
  }
}

/** Shows the newest lines since a given time, then streams new ones until the host closes the connection. */
async function followOnce(
  log: Log,
  count: number,
  after: number,
  onThere: () => void,
  show: (line: LogLine) => void,
): Promise<void> {
  /** Streamed lines that are queued until the older ones are shown; null afterwards. */
  let waiting: LogLine[] | null = []
  let older: Promise<void> | null = null
  const onLine = (data: string) => {
    const line = readLine(data)
    if (line === null) return
    if (waiting === null) show(line)
    else waiting.push(line)
  }
  async function showOlder(): Promise<void> {
    const lines = (await newest(log, count)).filter(({ time }) => time > after)
    for (const line of lines) show(line)
    const known = lines.map((line) => JSON.stringify(line))
    for (const line of waiting ?? []) {
      const index = known.indexOf(JSON.stringify(line))
      if (index >= 0) known.splice(index, 1)
      else show(line)
    }
    waiting = null
  }
  const onOpen = () => {
    onThere()
    older = showOlder()
    // `older` is awaited below. Until then, its rejection must not be reported as unhandled.
    older.catch(() => {})
  }
  const answer = await log.api.follow(log.path, onOpen, onLine)
  if (answer !== null) refuse(answer, log.url, log.name)
  await older
}

/** @returns null if it is not a log line */
function readLine(data: string): LogLine | null {
  return LogLine.safeParse(parsedJson(data)).data ?? null
}

function readCount(text: string | undefined): number {
  if (text === undefined) return LINES
  if (/^\d{1,4}$/.test(text) && Number(text) <= MOST_LINES) return Number(text)
  throw new CommandError('usage', `--lines must be a number from 0 to ${MOST_LINES}, not "${text}".`)
}
