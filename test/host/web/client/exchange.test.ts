import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { HostFrame } from '../../../../host/clients/frames.ts'
import { createExchange, type ExchangeState, type NewFrame } from '../../../../host/web/client/exchange.ts'
import type { LineListener } from '../../../../host/web/client/line.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** An exchange whose lines the test holds in its hand. */
function start() {
  const lines: { listener: LineListener; sent: Record<string, unknown>[]; isClosed: boolean }[] = []
  const received: HostFrame[] = []
  const states: ExchangeState[] = []
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
    size: () => ({ width: 1, height: 2 }),
    received: (frame) => void received.push(frame),
    changed: (state) => void states.push(state),
    random: () => 1,
  })
  const last = () => lines.at(-1) as (typeof lines)[number]
  const say = (frame: HostFrame) => last().listener.received(JSON.stringify(frame))
  const greet = (seq = 0) => {
    last().listener.opened()
    say({ kind: 'hello', seq })
  }
  return { exchange, lines, received, states, last, say, greet }
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

test('exchange: nothing but the hello leaves before the host has answered it', () => {
  const { exchange, last, say } = start()
  last().listener.opened()
  exchange.send(press)
  expect(last().sent).toEqual([{ kind: 'hello', page: 'page', width: 1, height: 2 }])
  say({ kind: 'hello', seq: 0 })
  expect(numbers(last().sent)).toEqual(['hello', 1])
})

test('exchange: after a loss what was not answered goes once more, in order, with the same numbers', () => {
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

test('exchange: what the host handled before the loss, without its answer arriving, does not go again', () => {
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

test('exchange: offline the last value of each input waits, not all that it had', () => {
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

test('exchange: a value that left already is not taken back', () => {
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

test('exchange: pauses between tries grow up to 15 s, and begin anew once it worked', () => {
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

test('exchange: when the network is said to be back it does not wait', () => {
  const { exchange, lines, last } = start()
  last().listener.lost()
  exchange.retry()
  exchange.retry()
  expect(lines).toHaveLength(2)
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(2)
})

test('exchange: when the network is said to be gone the line is given up', () => {
  const { exchange, lines, greet, states } = start()
  greet()
  exchange.drop()
  expect(lines[0]?.isClosed).toBe(true)
  expect(states.at(-1)).toEqual({ isOnline: false, isWaiting: false })
})

test('exchange: a line that says nothing while an answer is awaited is given up', () => {
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

test('exchange: an answer is awaited until the last event is handled, or while the host is busy by itself', () => {
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

test('exchange: at its end it hangs up and never dials again', () => {
  const { exchange, lines, last, greet } = start()
  greet()
  exchange.end()
  expect(last().isClosed).toBe(true)
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(1)
})
