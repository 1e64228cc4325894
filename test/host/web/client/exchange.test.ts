import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createExchange, type ExchangeState, type NewFrame } from '../../../../host/web/client/exchange.ts'
import type { LineListener } from '../../../../host/web/client/line.ts'
import type { HostFrame } from '../../../../host/web/frames.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Creates an exchange whose connections the test controls. */
function start({ isReload = true }: { readonly isReload?: boolean } = {}) {
  const lines: { listener: LineListener; sent: Record<string, unknown>[]; isClosed: boolean }[] = []
  const received: HostFrame[] = []
  const states: ExchangeState[] = []
  const kept = {
    id: null as string | null,
    isReload,
    keep(id: string) {
      this.id = id
    },
    forget() {
      this.id = null
    },
  }
  const exchange = createExchange({
    dial(listener) {
      const line = { listener, sent: [] as Record<string, unknown>[], isClosed: false }
      lines.push(line)
      return {
        send: (text) => void line.sent.push(JSON.parse(text)),
        close: () => Object.assign(line, { isClosed: true }),
      }
    },
    page: 'page',
    kept,
    size: () => ({ width: 1, height: 2 }),
    received: (frame) => void received.push(frame),
    changed: (state) => void states.push(state),
    random: () => 1,
  })
  const last = () => lines.at(-1) as (typeof lines)[number]
  const say = (frame: HostFrame) => last().listener.received(JSON.stringify(frame))
  const hello = (seq: number, isNew = false) => say({ kind: 'hello', client: 'mine', seq, isNew })
  const greet = (seq = 0, isNew = false) => {
    last().listener.opened()
    hello(seq, isNew)
  }
  return { exchange, kept, hello, lines, received, states, last, say, greet }
}

const change = (element: string, value: string): NewFrame => ({
  kind: 'event',
  form: 'f',
  element,
  type: 'onElementDataChange',
  value,
})
const press: NewFrame = { kind: 'event', form: 'f', element: 'save', type: 'onAction', value: null }
const numbers = (sent: readonly Record<string, unknown>[]) =>
  sent.map(({ kind, seq }) => (kind === 'hello' ? 'hello' : seq))

test('exchange: only the hello is sent until the host has answered it', () => {
  const { exchange, last, hello } = start()
  last().listener.opened()
  exchange.send(press)
  expect(last().sent).toEqual([{ kind: 'hello', client: null, page: 'page', width: 1, height: 2 }])
  hello(0, true)
  expect(numbers(last().sent)).toEqual(['hello', 1])
})

test('exchange: unanswered events are sent again after a lost connection, in order and with the same numbers', () => {
  const { exchange, lines, last, say, greet } = start()
  greet()
  exchange.send(change('a', '1'))
  exchange.send(press)
  exchange.send(change('a', '2'))
  say({ kind: 'idle', seq: 1 })
  last().listener.lost()
  vi.advanceTimersByTime(500)
  expect(lines).toHaveLength(2)
  greet(1)
  expect(numbers(last().sent)).toEqual(['hello', 2, 3])
})

test('exchange: events that the host handled before the connection was lost are not sent again', () => {
  const { exchange, last, greet, states } = start()
  greet()
  exchange.send(press)
  exchange.send(press)
  last().listener.lost()
  vi.advanceTimersByTime(500)
  greet(2)
  expect(numbers(last().sent)).toEqual(['hello'])
  expect(states.at(-1)).toEqual({ isOnline: true, isWaiting: false })
})

test('exchange: while offline, only the last value of each input is queued', () => {
  const { exchange, last, greet } = start()
  greet()
  last().listener.lost()
  exchange.send(change('a', '1'))
  exchange.send(change('b', '1'))
  exchange.send(change('a', '2'))
  vi.advanceTimersByTime(500)
  greet()
  expect(
    last()
      .sent.slice(1)
      .map(({ element, value }) => [element, value]),
  ).toEqual([
    ['b', '1'],
    ['a', '2'],
  ])
})

test('exchange: a value that was already sent is not withdrawn', () => {
  const { exchange, last, greet } = start()
  greet()
  exchange.send(change('a', '1'))
  last().listener.lost()
  exchange.send(change('a', '2'))
  vi.advanceTimersByTime(500)
  greet(0)
  expect(
    last()
      .sent.slice(1)
      .map(({ seq, value }) => [seq, value]),
  ).toEqual([
    [1, '1'],
    [2, '2'],
  ])
})

test('exchange: the pauses between attempts grow up to 15 s, and are reset after a success', () => {
  const { lines, last, greet } = start()
  const pauses: number[] = []
  for (let index = 0; index < 8; index++) {
    last().listener.lost()
    const before = Date.now()
    const count = lines.length
    while (lines.length === count) vi.advanceTimersByTime(100)
    pauses.push(Date.now() - before)
  }
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000])
  greet()
  last().listener.lost()
  vi.advanceTimersByTime(500)
  expect(lines).toHaveLength(10)
})

test('exchange: when the browser reports that the network is back, it reconnects immediately', () => {
  const { exchange, lines, last } = start()
  last().listener.lost()
  exchange.retry()
  exchange.retry()
  expect(lines).toHaveLength(2)
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(2)
})

test('exchange: when the browser reports that the network is down, it closes the connection', () => {
  const { exchange, lines, greet, states } = start()
  greet()
  exchange.drop()
  expect(lines[0]?.isClosed).toBe(true)
  expect(states.at(-1)).toEqual({ isOnline: false, isWaiting: false })
})

test('exchange: if a host stops, it reconnects to another within a second, without reporting a lost connection', () => {
  const { exchange, lines, greet, last, states } = start()
  greet()
  last().listener.lost(true)
  exchange.send(change('a', '1'))
  vi.advanceTimersByTime(999)
  expect(lines).toHaveLength(1)
  vi.advanceTimersByTime(1)
  greet(0, true)
  expect(lines).toHaveLength(2)
  expect(states.map(({ isOnline }) => isOnline)).not.toContain(false)
})

test('exchange: if a host stops and there is no other, the connection is reported as lost', () => {
  const { lines, greet, last, states } = start()
  greet()
  last().listener.lost(true)
  vi.advanceTimersByTime(1000)
  last().listener.lost(true)
  expect(states.at(-1)).toMatchObject({ isOnline: false })
  vi.advanceTimersByTime(500)
  expect(lines).toHaveLength(3)
})

test('exchange: a connection that stays silent while a response is due is closed', () => {
  const { exchange, lines, greet, say } = start()
  greet()
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(1)
  exchange.send(press)
  vi.advanceTimersByTime(19_000)
  say({ kind: 'busy' })
  vi.advanceTimersByTime(19_000)
  expect(lines[0]?.isClosed).toBe(false)
  vi.advanceTimersByTime(1500)
  expect(lines).toHaveLength(2)
  expect(lines[0]?.isClosed).toBe(true)
})

test('exchange: the state is waiting until the last event is handled, and while the host is busy', () => {
  const { exchange, greet, say, states } = start()
  greet()
  const isWaiting = () => states.at(-1)?.isWaiting
  exchange.send(press)
  exchange.send(press)
  say({ kind: 'idle', seq: 1 })
  expect(isWaiting()).toBe(true)
  say({ kind: 'idle', seq: 2 })
  expect(isWaiting()).toBe(false)
  say({ kind: 'busy' })
  expect(isWaiting()).toBe(true)
  say({ kind: 'idle', seq: 2 })
  expect(isWaiting()).toBe(false)
})

test('exchange: `end` closes the connection, and the exchange never reconnects', () => {
  const { exchange, lines, last, greet } = start()
  greet()
  exchange.end()
  expect(last().isClosed).toBe(true)
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(1)
})

test('exchange: the client’s id is stored, and sent in the next hello', () => {
  const { last, greet, kept, received } = start()
  greet(0, true)
  expect(kept.id).toBe('mine')
  last().listener.lost()
  vi.advanceTimersByTime(500)
  greet(0)
  expect(last().sent[0]).toMatchObject({ kind: 'hello', client: 'mine' })
  expect(received).toEqual([])
})

test('exchange: when a new client replaces the old one, unanswered events are dropped, and numbering continues', () => {
  const { exchange, last, greet, received, states } = start()
  greet(0, true)
  exchange.send(press)
  exchange.send(change('a', '1'))
  last().listener.lost()
  exchange.send(change('a', '2'))
  vi.advanceTimersByTime(500)
  greet(0, true)
  expect(numbers(last().sent)).toEqual(['hello'])
  expect(received).toEqual([{ kind: 'reopened' }])
  expect(states.at(-1)).toEqual({ isOnline: true, isWaiting: false })
  expect(exchange.send(press)).toBe(4)
  expect(numbers(last().sent)).toEqual(['hello', 4])
})

test('exchange: if the user opened the page and its previous client has ended, only a later loss is reported', () => {
  const { kept, received, last, greet } = start({ isReload: false })
  kept.id = 'earlier'
  greet(0, true)
  expect(received).toEqual([])
  last().listener.lost()
  vi.advanceTimersByTime(60_000)
  greet(0, true)
  expect(received).toEqual([{ kind: 'reopened' }])
})

test('exchange: when a client is reopened, unanswered events are dropped, and the state is not waiting', () => {
  const { exchange, last, greet, say, received, states } = start()
  greet(0, true)
  say({ kind: 'busy' })
  exchange.send(press)
  say({ kind: 'reopened' })
  expect(received).toEqual([{ kind: 'busy' }, { kind: 'reopened' }])
  expect(states.at(-1)).toEqual({ isOnline: true, isWaiting: false })
  last().listener.lost()
  vi.advanceTimersByTime(500)
  greet(0)
  expect(numbers(last().sent)).toEqual(['hello'])
})

test('exchange: while the user is leaving the page, it neither reconnects nor reports anything; if they stay, it resumes', () => {
  const { exchange, lines, last, greet, states } = start()
  greet(0, true)
  exchange.send(press)
  const told = states.length
  exchange.suspend()
  expect(last().isClosed).toBe(true)
  vi.advanceTimersByTime(60_000)
  expect([lines.length, states.length]).toEqual([1, told])
  exchange.retry()
  exchange.send(change('a', '1'))
  expect(states.at(-1)).toEqual({ isOnline: true, isWaiting: false })
  greet(0)
  expect(numbers(last().sent)).toEqual(['hello', 1, 2])
})

test('exchange: after `end`, it accepts no more events', () => {
  const { exchange, greet, states } = start()
  greet(0, true)
  expect(exchange.send(press)).toBe(1)
  exchange.end()
  const told = states.length
  expect(exchange.send(press)).toBe(1)
  expect(states).toHaveLength(told)
})
