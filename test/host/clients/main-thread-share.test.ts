import { expect, test } from 'vitest'
import { createMainThreadShare } from '../../../host/clients/main-thread-share.ts'

function played() {
  let time = 0
  const work = (ms: number) => () => {
    time += ms
  }
  const clock = {
    now: () => time,
    async wait(ms: number) {
      time += ms
    },
  }
  const { spend, ready } = createMainThreadShare(clock)
  async function waited(): Promise<number> {
    const start = time
    await ready()
    return time - start
  }
  return { spend, waited, work }
}

test('main-thread share: after expensive work, the next work waits three times as long; several works add up', async () => {
  const { spend, waited, work } = played()
  expect(await waited()).toBe(0)
  spend(work(20))
  expect(await waited()).toBe(60)
  expect(await waited()).toBe(0)
  for (let tables = 0; tables < 3; tables++) spend(work(50))
  // The time of the second and third work is already part of the rest after the first one.
  expect(await waited()).toBe(3 * 150 - 2 * 50)
})

test('main-thread share: cheap work costs nothing, and no wait is longer than 3 s', async () => {
  const { spend, waited, work } = played()
  for (let calls = 0; calls < 1000; calls++) spend(work(4))
  expect(await waited()).toBe(0)
  for (let tables = 0; tables < 100; tables++) spend(work(90))
  expect(await waited()).toBe(3000)
})

test('main-thread share: work that throws counts too, and its error and result are passed on', async () => {
  const { spend, waited, work } = played()
  expect(spend(() => 'done')).toBe('done')
  const fails = () => {
    work(10)()
    throw new TypeError('no such element')
  }
  expect(() => spend(fails)).toThrow('no such element')
  expect(await waited()).toBe(30)
})
