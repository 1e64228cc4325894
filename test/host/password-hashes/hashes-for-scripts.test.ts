import { expect, test } from 'vitest'
import { createPasswords, type Passwords } from '../../../base/accounts/passwords.ts'
import type { Throttle } from '../../../base/accounts/throttle.ts'
import { createHostCall, type HostCall } from '../../../base/bundles/host-call.ts'
import { createHashesForScripts } from '../../../host/password-hashes/hashes-for-scripts.ts'
import { manifestOf } from '../../support/solutions.ts'
import { waitUntil } from '../../support/wait-until.ts'

const BCRYPT = '$2b$05$abcdefghijklmnopqrstuuhMz1qlbUL/Ybe9Xu8meoaOQHlMG6OHq'
const PASSWORD = 'Grüße, horse'
/** A hash whose cost is so high that the host rejects it without computing it. */
const HOSTILE = BCRYPT.replace('$05$', '$31$')

const passwords = createPasswords()

function callOf(name = 'crm', kind: 'login' | 'open' = 'open', onlyForm: string | null = null): HostCall {
  const manifest = manifestOf({ name, authenticator: 'NONE' })
  return createHostCall({
    kind,
    solution: { name, version: '1', sha256: 'x', manifest, modules: [], texts: {}, forms: [], definitions: new Map() },
    correlationId: '',
    user: null,
    account: null,
    address: '192.0.2.7',
    locale: 'en',
    serverUrl: '',
    onlyForm,
  })
}

/** Creates a throttle that allows this number of attempts for each account. */
function throttleOf(most: number) {
  const counts = new Map<string, number>()
  const rewarded: string[] = []
  const keyOf = ({ source, username, address }: Parameters<Throttle['count']>[0]) => `${source} ${username} ${address}`
  const throttle: Throttle = {
    async count(attempt, isKnown) {
      const key = isKnown ? 'network' : keyOf(attempt)
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return (counts.get(key) ?? 0) > most ? 60 : null
    },
    succeeded: async (attempt) => void rewarded.push(keyOf(attempt)),
    gaveNothing: async () => {},
    sweep: async () => {},
  }
  return { throttle, counts, rewarded }
}

function hashesOf(options: { most?: number; passwords?: Passwords; patience?: number } = {}) {
  const { throttle, counts, rewarded } = throttleOf(options.most ?? 1000)
  const refused: string[] = []
  const noteRefusal = (_call: unknown, message: string) => void refused.push(message)
  const { patience } = options
  const parts = { passwords: options.passwords ?? passwords, throttle, noteRefusal, ...(patience ? { patience } : {}) }
  return { ...createHashesForScripts(parts), counts, rewarded, refused }
}

test('password hashes: a new hash is argon2id, matches only its password, and is different each time', async () => {
  const { check, hash } = hashesOf()
  const [made, other] = await Promise.all([hash(callOf(), 'seven geese'), hash(callOf(), 'seven geese')])
  expect(made).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(made).not.toBe(other)
  expect(await check(callOf(), 'seven geese', made)).toBe(true)
  expect(await check(callOf(), 'six geese', made)).toBe(false)
})

test('password hashes: a check without a hash returns false after the same work as a check of a hash', async () => {
  const verified: unknown[] = []
  const watched: Passwords = {
    ...passwords,
    verify: (hash, password) => {
      verified.push(hash)
      return passwords.verify(hash, password)
    },
  }
  expect(await hashesOf({ passwords: watched }).check(callOf(), 'any', null)).toBe(false)
  expect(verified).toEqual([null])
})

test('password hashes: guesses at one hash in a client are counted, and a correct password resets the count', async () => {
  const { check, refused, rewarded, counts } = hashesOf({ most: 5 })
  const guesses = Array.from({ length: 8 }, (_, n) => check(callOf(), `guess ${n}`, BCRYPT))
  const settled = await Promise.allSettled(guesses)
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  expect(refused).toHaveLength(3)
  await expect(check(callOf(), PASSWORD, BCRYPT)).rejects.toThrow('too many attempts for this password hash')
  const own = await hashesOf().hash(callOf(), 'other')
  expect(await check(callOf(), 'other', own)).toBe(true)
  expect(rewarded).toHaveLength(1)
  expect([...counts.keys()].join()).not.toContain(BCRYPT)
})

test('password hashes: guesses in a login form are counted for the hash; guesses in an authenticator are not, because the sign-in counts them', async () => {
  const { check } = hashesOf({ most: 1 })
  for (let n = 0; n < 4; n++) expect(await check(callOf('crm', 'login'), 'guess', BCRYPT)).toBe(false)
  const form = () => check(callOf('crm', 'login', 'signIn'), 'guess', BCRYPT)
  expect(await form()).toBe(false)
  await expect(form()).rejects.toThrow('too many attempts')
})

test('password hashes: a hash that cannot be checked is not counted and causes no work', async () => {
  const { check, counts } = hashesOf()
  await expect(check(callOf(), 'x', HOSTILE)).rejects.toThrow('cost must be at most 14')
  await expect(check(callOf(), 'x', 'md5')).rejects.toThrow('the format of this hash is not supported')
  expect(counts.size).toBe(0)
})

test('password hashes: a solution with many requests delays another by at most one hash, and its queue is limited', async () => {
  const running: (() => void)[] = []
  const held: Passwords = {
    ...passwords,
    width: 2,
    hash: () => new Promise((resolve) => running.push(() => resolve('made'))),
  }
  const { hash } = hashesOf({ passwords: held })
  const greedy = Array.from({ length: 60 }, () => hash(callOf('greedy'), 'x'))
  const refused = greedy.slice(51)
  for (const one of refused) await expect(one).rejects.toThrow('too many password hashes are being checked')
  const modest = hash(callOf('modest'), 'x')
  let isMade = false
  void modest.then(() => {
    isMade = true
  })
  for (let hashes = 0; !isMade; hashes++) {
    expect(hashes).toBeLessThan(2)
    await waitUntil(() => expect(running).toHaveLength(1))
    running.shift()?.()
    await new Promise(setImmediate)
  }
  const all = Promise.all(greedy.slice(0, 51))
  let isOver = false
  void all.then(() => {
    isOver = true
  })
  while (!isOver) {
    running.shift()?.()
    await new Promise(setImmediate)
  }
})

test('password hashes: a call that waits too long is rejected with a time to retry', async () => {
  const held: Passwords = { ...passwords, hash: () => new Promise(() => {}) }
  const { hash } = hashesOf({ passwords: held, patience: 20 })
  void hash(callOf(), 'x')
  await expect(hash(callOf(), 'x')).rejects.toThrow(
    'too many password hashes are being checked; try again in 2 seconds',
  )
})

test('password hashes: a hash is checked off the event loop', async () => {
  const { check } = hashesOf()
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await check(callOf(), 'x', BCRYPT.replace('$05$', '$11$'))
  clearInterval(timer)
  expect(turns).toBeGreaterThan(2)
})
