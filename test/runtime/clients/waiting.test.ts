import { expect, test } from 'vitest'
import type { CallEnd } from '../../../runtime/sandbox/call-end.ts'
import type { Client } from '../../../runtime/sandbox/client.ts'
import { createClientIsolate } from '../../../runtime/sandbox/client-isolate.ts'
import type { Callback, Isolate } from '../../../runtime/sandbox/isolate.ts'

// Tests how long a call may wait for its turn, with a simulated isolate and clock. The call does nothing but send
// requests and wait for their results.

const CALL = { unit: 'main', entry: 'forms.event', args: [], state: {}, timeLimit: 'CALL_TIME' } as const

function playedIsolate(): Isolate {
  const reference = (result: unknown) => ({ apply: async () => result, release: () => {} })
  // The guest returns an empty string while the script waits for a result.
  const context = { global: { get: async () => reference(reference('')) }, release: () => {} }
  const isolate = {
    isDisposed: false,
    createContext: async () => context,
    compileScript: async () => ({}),
    dispose() {},
  }
  return isolate as unknown as Isolate
}

test('clients: a call that repeatedly waits for other calls ends after waiting 10 s in total', async () => {
  let time = 0
  const ends: [number, CallEnd][] = []
  const begun: number[] = []
  const isolate = createClientIsolate({
    isolate: playedIsolate(),
    limits: { LOAD_TIME: 1000, CALL_TIME: 60_000 },
    ask: (() => {}) as unknown as Callback,
    settings: '{}',
    scripts: [],
    formScripts: [],
    files: new Set(),
    events: { started: (id) => begun.push(id), ended: (id, end) => ends.push([id, end]), hung() {}, lost() {} },
    debugClock: () => time,
  })
  const client: Client = { id: 1, number: 1, call: null, counted: 0, closed: false, loaded: null }
  const idle = () => expect.poll(() => isolate.load()).toBe(0)

  isolate.open(client, 1)
  await idle()
  isolate.enter(client, 2, CALL)
  await idle()
  for (let answer = 0; answer < 3; answer++) {
    expect(ends.map(([id]) => id)).toEqual([1])
    isolate.answer(client, 'an answer')
    // Other clients run for 4 s while the call waits for its turn.
    time += 4000
    await idle()
  }
  expect(begun).toEqual([1, 2])
  expect(ends[1]).toEqual([2, expect.objectContaining({ ok: false, code: 'sandbox_busy', milliseconds: 12_000 })])
  isolate.dispose()
})
