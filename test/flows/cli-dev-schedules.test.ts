import { expect, test } from 'vitest'
import { apiOf } from '../support/api.ts'
import { type DevProcess, startDev } from '../support/dev-process.ts'
import { ADMIN_PASSWORD } from '../support/host.ts'
import { waitUntil } from '../support/wait-until.ts'

const FILES = {
  'solution.json': JSON.stringify({
    name: 'shop',
    version: '1.0.0',
    authenticator: 'NONE',
    jobs: { nightly: { function: 'nightly', schedule: '30 2 * * *' } },
  }),
  'globals.js': "function nightly() { application.output('ran at night') }",
}
const ENV = { SERVLET_PASSWORD: ADMIN_PASSWORD, PLATFORM_TESTING_MODE: 'true' }
const DAY = 86_400_000

function apiOfDev({ url }: DevProcess) {
  const admin = `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`
  const { send, items } = apiOf(() => ({ url, admin }))
  return {
    runs: () => items('/solutions/shop/runs'),
    async moveClock(days: number) {
      expect((await send('POST', '/testing', { clockOffsetMs: days * DAY })).status).toBe(200)
    },
  }
}

test('dev: jobs run on their schedules with --schedules, and not without it', async () => {
  const [first, second] = await Promise.all([
    startDev(FILES, { env: ENV, words: ['--schedules'] }),
    startDev(FILES, { env: ENV }),
  ])
  using dev = first
  using without = second
  for (const host of [dev, without]) await apiOfDev(host).moveClock(1)
  await dev.printed(/ran at night/)
  await waitUntil(async () =>
    expect(await apiOfDev(dev).runs()).toEqual([expect.objectContaining({ job: 'nightly', state: 'succeeded' })]),
  )
  expect(await apiOfDev(without).runs()).toEqual([])
  expect(without.out()).not.toContain('ran at night')
})
