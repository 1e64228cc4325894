import { hash } from '@node-rs/argon2'
import { expect, test } from 'vitest'
import { createPasswords } from '../../../base/accounts/passwords.ts'
import { ERRORS } from '../../../base/http/errors.ts'
import { createGate } from '../../../runtime/gate.ts'
import { CHEAP_HASHES } from '../../support/cheap-passwords.ts'

test('passwords: a hash is Argon2id with 19 MiB, t=2, p=1, and matches only its own password', async () => {
  const passwords = createPasswords()
  const made = await passwords.hash('correct horse')
  expect(made).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await passwords.verify(made, 'correct horse')).toBe(true)
  expect(await passwords.verify(made, 'correct horse ')).toBe(false)
})

test('passwords: a host that sets no cost uses the default, and one with a lower cost accepts its hashes', async () => {
  const usual = createPasswords({ cost: undefined })
  const cheap = createPasswords({ cost: CHEAP_HASHES })
  const made = await usual.hash('correct horse')
  const weak = await cheap.hash('correct horse')
  expect([made, weak].map((one) => one.split('$')[3])).toEqual(['m=19456,t=2,p=1', 'm=8,t=1,p=1'])
  expect([usual.needsRehash(weak), usual.needsRehash(made), cheap.needsRehash(weak)]).toEqual([true, false, false])
  expect(await cheap.verify(made, 'correct horse')).toBe(true)
})

test('passwords: composed and decomposed Unicode letters are the same password', async () => {
  const passwords = createPasswords()
  const made = await passwords.hash('caf\u00e9 au lait')
  expect(await passwords.verify(made, 'cafe\u0301 au lait')).toBe(true)
})

test('passwords: every character in a long password is significant', async () => {
  const passwords = createPasswords()
  const long = 'x'.repeat(255)
  const made = await passwords.hash(`${long}a`)
  expect([await passwords.verify(made, `${long}b`), await passwords.verify(made, `${long}a`)]).toEqual([false, true])
})

test('passwords: verifying a password without a hash returns false after the same work', async () => {
  const passwords = createPasswords()
  const made = await passwords.hash('correct horse')
  // Measures the CPU time of this process, because wall time depends on what else the machine does.
  // Other work in this process can only increase a measurement, so tests use the lowest of several.
  async function workOf(passwordHash: string | null): Promise<number> {
    const before = process.cpuUsage()
    expect(await passwords.verify(passwordHash, 'another one')).toBe(false)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const least = { without: Number.POSITIVE_INFINITY, with: Number.POSITIVE_INFINITY }
  for (let round = 0; round < 9; round++) {
    least.without = Math.min(least.without, await workOf(null))
    least.with = Math.min(least.with, await workOf(made))
  }
  const ratio = least.without / least.with
  expect(ratio).toBeGreaterThan(0.5)
  expect(ratio).toBeLessThan(2)
})

test.each([
  [{ memoryCost: 8 * 1024, timeCost: 2, parallelism: 1 }, true],
  [{ memoryCost: 19 * 1024, timeCost: 1, parallelism: 1 }, true],
  [{ memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }, false],
  [{ memoryCost: 20 * 1024, timeCost: 3, parallelism: 1 }, false],
])('passwords: a hash created with %j must be replaced: %s', async (parameters, needed) => {
  const passwords = createPasswords()
  expect(passwords.needsRehash(await hash('correct horse', parameters))).toBe(needed)
})

test('passwords: if the queue is full, a request is rejected immediately with 503, and those in the queue get their results', async () => {
  const gate = createGate(1)
  const passwords = createPasswords({ gate, mostWaiting: 2 })
  gate.force()
  const waiting = [passwords.verify(null, 'one'), passwords.verify(null, 'two')]
  await expect(passwords.verify(null, 'three')).rejects.toMatchObject({
    code: 'ERR_PASSWORDS_BUSY',
    details: { retryAfter: 2 },
  })
  expect(ERRORS.ERR_PASSWORDS_BUSY.status).toBe(503)
  gate.leave()
  expect(await Promise.all(waiting)).toEqual([false, false])
  expect(await passwords.verify(null, 'four')).toBe(false)
})

test('passwords: a request that waits too long is rejected', async () => {
  const gate = createGate(1)
  const passwords = createPasswords({ gate, patience: 10 })
  gate.force()
  await expect(passwords.verify(null, 'one')).rejects.toMatchObject({ code: 'ERR_PASSWORDS_BUSY' })
})

test('passwords: a hash without a waiting limit waits for its turn, even in a long queue', async () => {
  const gate = createGate(1)
  const passwords = createPasswords({ gate, mostWaiting: 0, patience: 10 })
  gate.force()
  const made = passwords.hash('correct horse', { patient: true })
  await expect(passwords.hash('correct horse')).rejects.toMatchObject({ code: 'ERR_PASSWORDS_BUSY' })
  gate.leave()
  expect(await made).toMatch(/^\$argon2id/)
})

test('passwords: the event loop keeps running during hashing', async () => {
  const passwords = createPasswords()
  let turns = 0
  const counter = setInterval(() => turns++, 1)
  await Promise.all(Array.from({ length: 10 }, () => passwords.hash('correct horse')))
  clearInterval(counter)
  expect(turns).toBeGreaterThan(5)
})
