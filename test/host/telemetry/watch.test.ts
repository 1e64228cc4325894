import { expect, test } from 'vitest'
import { watchCalls } from '../../../host/telemetry/watch.ts'
import type { CallHandlers, Supervisor } from '../../../runtime/supervisor.ts'

const watcher = {
  metrics: { isOn: () => true, record: () => {}, add: () => {}, observe: () => {} },
  spans: {
    run: (_name: string, _facts: object, work: (add: () => void) => Promise<unknown>) => work(() => {}),
    keep: (fn: unknown) => fn,
  },
  solutionLabel: (name: string) => name,
} as unknown as Parameters<typeof watchCalls>[1]

test('telemetry: a watched call can still be aborted, and still reports that it began', async () => {
  let given: CallHandlers | undefined
  const supervisor = {
    call(_version: unknown, _call: unknown, handlers: CallHandlers) {
      given = handlers
      handlers.began?.()
      return Promise.resolve({ code: 'returned' })
    },
  } as unknown as Supervisor
  const { signal } = new AbortController()
  let began = 0
  await watchCalls(supervisor, watcher).call(
    { key: 'crm 1', solution: () => ({}) as never },
    { entry: 'run' } as never,
    { log: () => {}, request: () => ({ changes: false, value: Promise.resolve(null) }), began: () => began++, signal },
  )
  expect(given?.signal).toBe(signal)
  expect(began).toBe(1)
})
