import { expect, test } from 'vitest'
import type { Connection } from '../../../host/clients/connection.ts'
import { type Browser, createSlowBrowsers } from '../../../host/clients/slow-browsers.ts'

const K = 1024

/** Simulates browsers. `state` has the unread and read characters of each, by its name. */
function simulate(most: { slow: number; all: number }, addresses: Readonly<Record<string, string>>) {
  const state = new Map(Object.keys(addresses).map((name) => [name, { held: 0, taken: 0 }]))
  const ended: string[] = []
  const browsers = Object.entries(addresses).map(([name, address]): Browser & { readonly name: string } => {
    const terminate = () => {
      ended.push(name)
      state.set(name, { held: 0, taken: 0 })
    }
    const connection = { unread: () => state.get(name) ?? { held: 0, taken: 0 }, terminate } as unknown as Connection
    return { name, connection, address }
  })
  const set = (name: string, held: number, taken: number) => state.set(name, { held, taken })
  return { ...createSlowBrowsers(() => browsers, most), set, ended }
}

test('slow browsers: if they have too much unread in total, the network with the most is disconnected first', () => {
  const { look, set, ended } = simulate(
    { slow: 100 * K, all: 10_000 * K },
    { fast: '192.0.2.1', one: '198.51.100.1', two: '198.51.100.1', other: '203.0.113.1' },
  )
  const hold = (taken: number) => {
    set('fast', 900 * K, taken)
    set('one', 40 * K, 0)
    set('two', 45 * K, 0)
    set('other', 50 * K, 0)
  }
  hold(0)
  look()
  expect(ended).toEqual([])
  hold(20 * K)
  look()
  expect(ended).toEqual(['two'])
  hold(40 * K)
  set('two', 0, 0)
  look()
  expect(ended).toEqual(['two'])
})

test('slow browsers: unread frames that a browser has only just got don’t count', () => {
  const { look, set, ended } = simulate({ slow: 10 * K, all: 10_000 * K }, { one: '192.0.2.1' })
  look()
  set('one', 900 * K, 0)
  look()
  expect(ended).toEqual([])
  look()
  expect(ended).toEqual(['one'])
})

test('slow browsers: if frames pile up fast, browsers are disconnected immediately', () => {
  const { noteSent, set, ended } = simulate({ slow: 10 * K, all: 100 * K }, { one: '192.0.2.1', two: '192.0.2.2' })
  const send = (name: string, held: number) => {
    set(name, held, 0)
    noteSent(40 * K)
  }
  // These frames were all read.
  for (let frame = 0; frame < 10; frame++) send('one', 0)
  send('one', 40 * K)
  send('two', 40 * K)
  expect(ended).toEqual([])
  send('one', 80 * K)
  expect(ended).toEqual(['one'])
})
