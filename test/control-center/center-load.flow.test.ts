import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LoadedCenter, startLoadedCenter } from '../support/center-load.ts'
import { scaled } from '../support/scale.ts'

/* A shorter version of `npm run long -- center-load`. */

let loaded: LoadedCenter
beforeAll(async () => {
  loaded = await startLoadedCenter(scaled(2, 4))
})
afterAll(() => loaded?.stop())

test('a control center that is killed under load and restarted loses nothing and stores nothing twice', async () => {
  const { center, satellites } = loaded
  const everyone = (what: (one: (typeof satellites)[number]) => Promise<void>) => Promise.all(satellites.map(what))
  const round = () =>
    everyone(async (one) => {
      await one.work()
      await one.log(700)
    })
  await round()
  const killed = round()
  await expect
    .poll(async () => (await loaded.api('organisations/acme/logs?words=order')).body.items.length)
    .toBeGreaterThan(0)
  await center.kill()
  await killed
  await round()
  await center.start()
  await round()
  await expect.poll(() => satellites.every((one) => one.waiting() === 0)).toBe(true)
  await expect.poll(() => satellites.every((one) => one.done.reports > 0)).toBe(true)
  await center.stop()
  const stored = await loaded.stored()
  for (const { environment, done } of satellites) {
    const { lines, logins, calls, dropped } = done
    expect(dropped).toBe(0)
    expect(stored.get(environment)).toEqual({ lines, distinct: lines, logins, calls })
  }
})
