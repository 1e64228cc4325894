import { expect, test, vi } from 'vitest'
import { createHttpAnswers } from '../../../host/solution-tests/http-answers.ts'
import type { OpenClient } from '../../../host/solution-tests/open-client.ts'
import { createTestPlugin } from '../../../host/solution-tests/plugin.ts'
import type { Stage } from '../../../host/solution-tests/stage.ts'
import type { Call } from '../../../runtime/plugin.ts'

function opener() {
  const open = vi.fn(async () => ({ state: () => null }) as unknown as OpenClient)
  const plugin = createTestPlugin({ open } as unknown as Stage, () => {})
  const asked = plugin.requests?.open
  return { open, plugin, ask: async () => asked?.answer({} as Call, asked.check([{}]) as never) }
}

test('a test can open at most 100 clients, including pending ones; the count starts again at zero for the next test', async () => {
  const { open, plugin, ask } = opener()
  const results = await Promise.allSettled(Array.from({ length: 105 }, ask))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
  await expect(ask()).rejects.toThrow('a test can open at most 100 clients')
  expect(open).toHaveBeenCalledTimes(100)
  plugin.forget()
  expect(await ask()).toEqual({ id: 101, state: null })
})

test('the numbers of declared responses and recorded requests are limited, and each test starts without any', async () => {
  const http = createHttpAnswers()
  const answer = { url: 'https://api.example.org/', method: null, status: 200, headers: {}, body: 'yes' }
  const request = { url: answer.url, method: 'GET', headers: {}, body: null, maxBytes: 10, timeoutMs: 1000 }
  const send = () => http.ports.send(request)
  for (let number = 0; number < 500; number++) http.declare(answer)
  expect(() => http.declare(answer)).toThrow('a test can declare at most 500 responses')
  for (let number = 0; number < 500; number++) await send()
  await expect(send()).rejects.toThrow('the scripts can send at most 500 requests per test')
  http.clear()
  expect(http.seen()).toEqual([])
  await expect(send()).rejects.toThrow('no response is declared for GET https://api.example.org/')
})
