import { expect, test } from 'vitest'
import type { HostCall } from '../../../base/bundles/host-call.ts'
import type { GuestBindings } from '../../../host/solutions/guest-bindings.ts'
import { createLateAnswers } from '../../../host/solutions/late-answers.ts'
import { type Json, ScriptError } from '../../../runtime/plugin.ts'

/** Sends one request to each binding, in order: their ids are 1, 2, … */
function sent(...values: readonly Promise<Json>[]) {
  const lines: string[] = []
  const bindings = {
    globalOf: (plugin: string) => `plugins.${plugin}`,
    answer: (_call: HostCall, _plugin: string, method: string) => ({ changes: false, value: values[Number(method)] }),
  } as unknown as GuestBindings
  const answers = createLateAnswers(
    bindings,
    {} as HostCall,
    ({ level, message }) => void lines.push(`${level} ${message}`),
  )
  for (const id of values.keys()) {
    answers.request(`b${id + 1}`, `${id}`, [], id + 1).value.catch(() => {})
  }
  return { answers, lines }
}

const tooEarly = (binding: string) => expect.stringContaining(`warn the call ended before ${binding} responded`)
const failed = (binding: string) => `error ${binding} failed after the call had ended: no such table`

test('a request that fails while the function returns is reported like one that fails later', async () => {
  const { promise: later, reject } = Promise.withResolvers<Json>()
  const { answers, lines } = sent(Promise.reject(new ScriptError('no such table')), later)
  // The rejection's handlers run in the next task at the latest.
  await new Promise(setImmediate)
  answers.returned([1, 2])
  expect(lines).toEqual([tooEarly('plugins.b1'), tooEarly('plugins.b2'), failed('plugins.b1')])
  reject(new ScriptError('no such table'))
  await expect.poll(() => lines.slice(3)).toEqual([failed('plugins.b2')])
})

test('a request whose response the script got is not reported, whether it succeeded or failed', async () => {
  const { answers, lines } = sent(Promise.reject(new ScriptError('no such table')), Promise.resolve(1))
  await new Promise(setImmediate)
  answers.returned([])
  answers.returned([7])
  expect(lines).toEqual([])
})

test('requests of an earlier attempt are forgotten when the call starts in another process', () => {
  const { answers, lines } = sent(Promise.resolve(1))
  answers.began()
  answers.returned([1])
  expect(lines).toEqual([])
})
