import { afterAll, expect, test } from 'vitest'
import type { Plugin } from '../../runtime/plugin.ts'
import { createProbe } from '../support/probe/host.ts'
import { createScriptLab } from '../support/solutions.ts'

const MB = 1024 ** 2
const ISOLATE_MEMORY = 16 * MB
const RESULTS = 100
let answered = 0
const source: Plugin = {
  ...createProbe(),
  name: 'source',
  requests: {
    ask: {
      check: (args) => args,
      changes: false,
      answer: () => {
        answered++
        return 'x'.repeat(MB)
      },
    },
  },
}
const lab = createScriptLab({ plugins: [source], limits: { ISOLATE_MEMORY, AUTHENTICATOR_TIME: 20_000 } })
afterAll(() => lab.stop())

test('the host drops results that a busy script does not read, so that they do not fill its memory', async () => {
  const { failure, values } = await lab.run({
    script: `async function onSolutionOpen() {
      var received = 0
      var messages = []
      var asked = []
      for (var i = 0; i < ${RESULTS}; i++) {
        asked.push(source.ask().then(function () { received++ }, function (error) { messages.push(error.message) }))
      }
      var end = Date.now() + 2000
      while (Date.now() < end);
      await Promise.all(asked)
      await source.ask()
      return JSON.stringify({ received: received, messages: messages })
    }`,
  })
  expect(failure).toBeNull()
  expect(answered).toBe(RESULTS + 1)
  const { received, messages } = values as { received: number; messages: string[] }
  expect(received + messages.length).toBe(RESULTS)
  // The pipe to the process holds some results, too.
  expect(received).toBeGreaterThanOrEqual(ISOLATE_MEMORY / MB)
  expect(received).toBeLessThan(2 * (ISOLATE_MEMORY / MB))
  expect(new Set(messages)).toEqual(
    new Set([
      'the result was lost: the scripts were busy and have not yet received 16 MB of earlier results (ISOLATE_MEMORY); await each request before you send the next',
    ]),
  )
})
