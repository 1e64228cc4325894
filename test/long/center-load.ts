import { setTimeout as pause } from 'node:timers/promises'
import { type LoadedCenter, type LoadedDatabase, NEEDLE, startLoadedCenter } from '../support/center-load.ts'
import { percentile, type Rows } from './report.ts'

const SATELLITES = Number(process.env.CENTER_SATELLITES ?? 50)
/** How long to measure page response times, in minutes. Phases with and without load alternate. */
const MINUTES = Number(process.env.CENTER_MINUTES ?? 5)
/** The number of log lines that all Satellites together send before the measurement. */
const LINES = Number(process.env.CENTER_LINES ?? 1_000_000)
const KILLS = Number(process.env.CENTER_KILLS ?? 2)
/** The interval between two exports of a Satellite's metrics, in ms. */
const INTERVAL = 10_000
/** The number of lines that a Satellite writes in each interval. */
const LINES_OF_INTERVAL = 20
/** The duration of one phase, with or without load, in ms. */
const TURN = Number(process.env.CENTER_TURN_MS ?? 20_000)
const PAGES = ['environments', 'analysis?range=1h', 'logs']
const SEARCHES = [
  NEEDLE,
  'order',
  'invoice customer',
  'warehouse*',
  'order&level=error',
  'order&environment=satellite-1',
  'nowhere',
]

/**
 * Runs many Satellites with one control center. All metrics must arrive, pages must be about as fast as without load,
 * and searching a million lines must take less than a second. After the control center is killed and restarted under
 * load, all data that it confirmed must be stored exactly once.
 */
export async function centerLoad(rows: Rows, database: LoadedDatabase = 'embedded'): Promise<void> {
  const loaded = await startLoadedCenter(SATELLITES, database)
  try {
    rows.tell('database', database)
    rows.tell('Satellites', SATELLITES)
    await fill(loaded, rows)
    await measurePages(loaded, rows)
    await search(loaded, rows)
    await killUnderLoad(loaded, rows)
    await compare(loaded, rows)
  } finally {
    await loaded.stop()
  }
}

async function fill({ satellites }: LoadedCenter, rows: Rows): Promise<void> {
  const start = performance.now()
  const each = Math.ceil(LINES / satellites.length)
  // Add only some lines at a time, because they stay in the queue on disk until the control center has accepted them.
  for (let left = each; left > 0; left -= 4096) {
    await Promise.all(satellites.map((one) => one.log(Math.min(4096, left))))
    await emptied(satellites, 64 * 1024 * 1024)
  }
  await emptied(satellites, 0)
  const seconds = (performance.now() - start) / 1000
  rows.atLeast(
    'lines that were stored',
    LINES,
    satellites.reduce((sum, { done }) => sum + done.lines, 0),
  )
  rows.tell('lines a second while they came as fast as they could', Math.round((each * satellites.length) / seconds))
}

/**
 * Alternates phases with and without load. Also changes which comes first, so that other work on the machine affects
 * both. The first phase isn't counted: code that is not compiled yet, and work left over from the flood of lines, would
 * make the idle phase look slow.
 */
async function measurePages(loaded: LoadedCenter, rows: Rows): Promise<void> {
  const times = { idle: new Map<string, number[]>(), loaded: new Map<string, number[]>() }
  const medians = { idle: [] as number[], loaded: [] as number[] }

  async function turn(state: 'idle' | 'loaded'): Promise<Map<string, number[]>> {
    const found = new Map<string, number[]>()
    const stop = state === 'loaded' ? startLoad(loaded) : async () => {}
    for (const end = Date.now() + TURN; Date.now() < end; ) {
      for (const page of PAGES) {
        found.set(page, [...(found.get(page) ?? []), await loaded.page(`/o/acme/${page}`)])
        await pause(50)
      }
    }
    await stop()
    await emptied(loaded.satellites, 0)
    return found
  }

  await turn('loaded')
  const until = Date.now() + MINUTES * 60_000
  for (let round = 0; Date.now() < until; round++) {
    for (const state of round % 2 === 0 ? (['idle', 'loaded'] as const) : (['loaded', 'idle'] as const)) {
      const found = await turn(state)
      for (const [page, took] of found) times[state].set(page, [...(times[state].get(page) ?? []), ...took])
      medians[state].push(Math.round(percentile([...found.values()].flat(), 50) * 10) / 10)
    }
  }
  rows.tell('all pages: p50 of each idle turn, ms', medians.idle.join(', '))
  rows.tell('all pages: p50 of each turn with load, ms', medians.loaded.join(', '))
  for (const page of PAGES) {
    const [idle, busy] = [times.idle, times.loaded].map((one) => percentile(one.get(page) ?? [], 50)) as [
      number,
      number,
    ]
    rows.tell(`page ${page}: idle, p50, ms`, idle)
    rows.tell(`page ${page}: with load, p50, ms`, busy)
    rows.tell(`page ${page}: with load, p95, ms`, percentile(times.loaded.get(page) ?? [], 95))
    rows.atMost(`page ${page}: times its idle median`, 2, busy / idle)
  }
}

/** Starts the Satellites at different times. @returns a function that stops them */
function startLoad({ satellites }: LoadedCenter): () => Promise<void> {
  const end = new AbortController()
  const wait = (time: number) => pause(time, undefined, { signal: end.signal }).catch(() => {})
  const running = satellites.map(async (one, index) => {
    await wait((INTERVAL * index) / satellites.length)
    while (!end.signal.aborted) {
      await one.work()
      await one.log(LINES_OF_INTERVAL)
      await wait(INTERVAL)
    }
  })
  return async () => {
    end.abort()
    await Promise.all(running)
  }
}

async function search(loaded: LoadedCenter, rows: Rows): Promise<void> {
  const stop = startLoad(loaded)
  for (const words of SEARCHES) {
    const times: number[] = []
    let found = 0
    for (let round = 0; round < 5; round++) {
      const { body, took } = await loaded.api(`organisations/acme/logs?words=${words}`)
      times.push(took)
      found = body.items.length
    }
    rows.tell(`search for ${words}: lines shown`, found)
    rows.atMost(`search for ${words}: longest of five, ms`, 1000, Math.max(...times))
  }
  await stop()
}

async function killUnderLoad(loaded: LoadedCenter, rows: Rows): Promise<void> {
  for (let kill = 0; kill < KILLS; kill++) {
    const stop = startLoad(loaded)
    const flood = Promise.all(loaded.satellites.map((one) => one.log(2048)))
    await pause(1000 + 500 * kill)
    await loaded.center.kill()
    await pause(2000)
    await loaded.center.start()
    await flood
    await pause(INTERVAL)
    await stop()
  }
  const start = performance.now()
  await emptied(loaded.satellites, 0)
  rows.tell('times it was killed', KILLS)
  rows.tell('until everything had arrived after that, s', (performance.now() - start) / 1000)
}

async function compare(loaded: LoadedCenter, rows: Rows): Promise<void> {
  const { satellites, center } = loaded
  await center.stop()
  const stored = await loaded.stored()
  const differences = (what: 'lines' | 'logins' | 'calls') =>
    satellites.filter(({ environment, done }) => stored.get(environment)?.[what] !== done[what]).length
  rows.tell(
    'lines in all',
    satellites.reduce((sum, { done }) => sum + done.lines, 0),
  )
  rows.tell(
    'sign-ins in all',
    satellites.reduce((sum, { done }) => sum + done.logins, 0),
  )
  rows.tell(
    'questions for the desired state',
    satellites.reduce((sum, { done }) => sum + done.polls, 0),
  )
  rows.atMost('Satellites with other sign-ins than were counted', 0, differences('logins'))
  rows.atMost('Satellites with other calls than were counted', 0, differences('calls'))
  rows.atMost('Satellites with other lines than were written', 0, differences('lines'))
  const twice = satellites.filter(({ environment, done }) => stored.get(environment)?.distinct !== done.lines).length
  rows.atMost('Satellites with lines that are missing or there twice', 0, twice)
  rows.atMost(
    'items that were dropped',
    0,
    satellites.reduce((sum, { done }) => sum + done.dropped, 0),
  )
  rows.atLeast('least reports of a Satellite', 1, Math.min(...satellites.map(({ done }) => done.reports)))
}

/** Waits until all queues together contain at most this many bytes. */
async function emptied(satellites: LoadedCenter['satellites'], most: number): Promise<void> {
  while (satellites.reduce((sum, one) => sum + one.waiting(), 0) > most) await pause(50)
}
