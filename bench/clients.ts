import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { proportionalSize } from '../runtime/process-memory.ts'
import { type ClientPage, openClient } from '../test/support/client-page.ts'
import { createVisitor } from '../test/support/http.ts'
import { UNTHROTTLED } from '../test/support/unthrottled.ts'
import { moduleFile } from '../test/support/zip.ts'
import { type RealHost, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure, median, percentile } from './rounds.ts'

const CLIENTS = Number(process.env.BENCH_CLIENTS ?? 500)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 6)
/** Duration of each part of a round, in ms. */
const PART = 4000
/**
 * Interval between clicks in ms, counted over all open clients. A click doesn't wait for the response to the previous
 * one.
 */
const DUE_EVERY = 20
const AT_ONCE = 8
const NAME = 'crowd'

/**
 * A typical form. It has twenty elements, a handler that changes two of them, and a handler that runs for two seconds.
 */
const FORM = {
  title: 'Crowd',
  layout: [
    {
      columns: [
        {
          elements: [
            { type: 'label', name: 'count', label: '0' },
            ...Array.from({ length: 16 }, (_, n) => ({ type: 'text', name: `field${n}`, label: `Field ${n}` })),
            { type: 'table', name: 'rows', label: 'Rows', columns: [{ name: 'text', label: 'Text' }] },
            { type: 'button', name: 'up', label: 'Up', onAction: 'up' },
            { type: 'button', name: 'slow', label: 'Slow', onAction: 'slow' },
          ],
        },
      ],
    },
  ],
}
const SCRIPT = `
let count = 0
function onLoad() {
  forms.crowd.elements.rows.rows = Array.from({ length: 50 }, (_, n) => ({ id: n, text: 'row ' + n }))
}
function up() {
  count++
  forms.crowd.elements.count.label = String(count)
  forms.crowd.elements.field0.value = 'clicked ' + count
}
function slow() {
  const until = Date.now() + 1900
  while (Date.now() < until) {}
}
`

/**
 * Measures open clients of one solution on a host in a separate process. Each client has a signed-in user and a real
 * WebSocket. A click's time is measured from when it was due until the host reports it as handled.
 */
export async function measureClients(): Promise<Row[]> {
  const crowded = await startCrowd()
  const lonely = await startCrowd()
  try {
    const few = await openMany(crowded, Math.min(20, CLIENTS))
    await settle()
    const before = sizeOf(crowded)
    const many = [...few, ...(await openMany(crowded, CLIENTS - few.length, few.length))]
    await settle()
    const grown = (sizeOf(crowded) - before) / (many.length - few.length) / 1024 ** 2
    const [one] = await openMany(lonely, 1)
    if (one === undefined) throw new Error('no client was opened')
    const times = { alone: [] as number[], crowd: [] as number[], calm: [] as number[], beside: [] as number[] }
    await clicks([one], PART / 4)
    await clicks(many, PART / 4)
    for (let round = 0; round < ROUNDS; round++) {
      times.alone.push(...(await clicks([one], PART)))
      times.crowd.push(...(await clicks(many, PART)))
    }
    const [busy, ...others] = many
    for (let round = 0; round < ROUNDS; round++) {
      times.calm.push(...(await clicks(others, PART / 2)))
      const slow = busy?.press('crowd', 'slow')
      times.beside.push(...(await clicks(others, 1800)))
      await slow
    }
    return [
      {
        work: `memory (PSS of host and sandbox processes) per open client, with ${CLIENTS} clients of one solution`,
        against: '-',
        reach: { atMost: 0.6 },
        unit: 'MB',
        measured: grown,
        details: `measured while the number of clients grew from ${few.length} to ${many.length}`,
      },
      ratioRow(
        `click in one client while ${CLIENTS} clients are open`,
        'the same click while only one client is open',
        3,
        times.crowd,
        times.alone,
      ),
      ratioRow(
        'click while another client’s handler runs for 2 s',
        'the same click while no handler runs',
        2,
        times.beside,
        times.calm,
      ),
    ]
  } finally {
    await Promise.all([crowded.stop(), lonely.stop()])
  }
}

async function startCrowd(): Promise<RealHost> {
  const host = await startRealHost({ ...UNTHROTTLED, CLIENTS: String(CLIENTS + 10) })
  const manifest = { name: NAME, authenticator: 'AUTHENTICATOR', modules: ['auth'], firstForm: 'crowd' }
  await host.uploadPlain(manifest, {
    ...moduleFile('auth', { type: 'authenticator' }),
    'modules/auth/globals.js':
      'function onSolutionOpen(arg, { username }) { security.login(username, username, ["Users"]) }',
    'forms/crowd.json': JSON.stringify(FORM),
    'forms/crowd.js': SCRIPT,
  })
  return host
}

async function openMany(host: RealHost, count: number, first = 0): Promise<ClientPage[]> {
  const opened: ClientPage[] = []
  let next = 0
  async function openSome(): Promise<void> {
    for (let one = next++; one < count; one = next++) opened.push(await open(host, `user-${first + one}`))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, openSome))
  return opened
}

async function open(host: RealHost, username: string): Promise<ClientPage> {
  const visitor = createVisitor(host.url)
  const page = `/solution/${NAME}/index.html`
  await visitor.get(page)
  const { status } = await visitor.post(page, { username, password: 'any' })
  if (status !== 303) throw new Error(`${username} could not sign in: HTTP ${status}`)
  return openClient(host.url, NAME, visitor)
}

/**
 * Clicks at a fixed rate, each one in a random client.
 * @returns response times in ms
 * @throws Error if a click gets no response
 */
async function clicks(pages: readonly ClientPage[], milliseconds: number): Promise<number[]> {
  const times: number[] = []
  const running: Promise<void>[] = []
  const start = performance.now()
  for (let due = start; due < start + milliseconds; due += DUE_EVERY) {
    if (due > performance.now()) await pause(due - performance.now())
    const page = pages[Math.floor(Math.random() * pages.length)] as ClientPage
    running.push(page.press('crowd', 'up').then(() => void times.push(performance.now() - due)))
  }
  await Promise.all(running)
  return times
}

/** Waits until garbage has been collected and idle processes have exited. */
function settle(): Promise<void> {
  return pause(4000)
}

/** The memory (PSS) of the host and its descendant processes, in bytes. */
function sizeOf(host: RealHost): number {
  return [host.pid, ...below(host.pid)].reduce((sum, pid) => sum + proportionalSize(pid), 0)
}

function below(parent: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent)
  return children.flatMap((pid) => [pid, ...below(pid)])
}

function parentOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[1])
  } catch {
    return 0
  }
}

function ratioRow(
  work: string,
  against: string,
  atMost: number,
  one: readonly number[],
  other: readonly number[],
): Row {
  const [measured, plain] = [median(one), median(other)]
  return {
    work,
    against,
    reach: { atMost },
    unit: 'ratio',
    measured: measured / plain,
    details: `${figure(measured)} ms : ${figure(plain)} ms (p99 ${figure(percentile(one, 99))} : ${figure(percentile(other, 99))})`,
  }
}
