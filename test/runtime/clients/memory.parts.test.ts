import { afterEach, expect, test } from 'vitest'
import { proportionalSize, residentSize } from '../../../runtime/process-memory.ts'
import { type ClientLab, createClientLab, type LabClient } from '../../support/clients.ts'

const MEGABYTE = 1024 ** 2

let lab: ClientLab
afterEach(() => lab.stop())

/** A script with as much code and data as a typical small solution. */
const SCRIPT = `${Array.from(
  { length: 60 },
  (_, number) =>
    `function calculate${number}(order) { return order.lines.map((line) => line.price * ${number}).join() }`,
).join('\n')}
const orders = Array.from({ length: 50 }, (_, id) => ({ id, customer: 'customer ' + id, lines: [{ price: id }] }))
let count = 0
function click() { count++; return calculate7(orders[count % 50]) }`

const pid = () => lab.pids()[0] ?? 0

test('clients: one process has room for 200 clients, and each uses little memory', async () => {
  lab = createClientLab()
  const version = lab.version(SCRIPT)
  const first = await lab.open(version)
  await first.result('click')
  const before = proportionalSize(pid())
  const from = performance.now()
  const clients: LabClient[] = []
  for (let made = 1; made < 200; made++) clients.push(await lab.open(version))
  const openTime = (performance.now() - from) / clients.length
  for (const client of clients) await client.result('click')
  const each = (proportionalSize(pid()) - before) / clients.length / MEGABYTE
  const all = proportionalSize(pid()) / MEGABYTE
  console.log(
    `PSS per client ${each.toFixed(3)} MB, process ${all.toFixed(0)} MB, to open one ${openTime.toFixed(1)} ms`,
  )
  expect(lab.pids()).toHaveLength(1)
  expect(each).toBeLessThan(0.6)
})

test('clients: no memory is retained after 2,000 clients were opened, called and closed', async () => {
  lab = createClientLab()
  const version = lab.version(SCRIPT)
  const kept = await lab.open(version)
  async function floorDuring(rounds: number): Promise<number> {
    let floor = Number.POSITIVE_INFINITY
    for (let round = 0; round < rounds; round++) {
      const client = await lab.open(version)
      await client.result('click')
      client.close()
      if (round % 25 === 0) floor = Math.min(floor, residentSize(pid()))
    }
    return floor
  }
  await floorDuring(700)
  const before = await floorDuring(300)
  await floorDuring(700)
  const after = await floorDuring(300)
  console.log(`resident ${(before / MEGABYTE).toFixed(0)} MB, 1,000 clients later ${(after / MEGABYTE).toFixed(0)} MB`)
  // A leaked context would use 0.2 MB, so 1,000 leaked contexts would use 200 MB.
  expect((after - before) / MEGABYTE).toBeLessThan(20)
  expect(await kept.result('click')).toBe('7')
  expect(lab.pids()).toHaveLength(1)
})
