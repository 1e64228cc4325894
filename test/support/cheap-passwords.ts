import type { HashCost, Passwords } from '../../base/accounts/passwords.ts'

/** A fast fake of password hashing, for tests of the code that calls it. Other tests check the real hashing. */
export const cheapPasswords: Passwords = {
  hash: async (password) => hashOf(password),
  verify: async (passwordHash, password) => passwordHash === hashOf(password),
  run: (work) => work(),
  width: 3,
  needsRehash: () => false,
}

function hashOf(password: string): string {
  return `cheap:${Buffer.from(password.normalize('NFC')).toString('hex')}`
}

/**
 * Real password hashing with the least memory and time. Hosts and control centers in tests use it. With the default
 * cost, their hashes took 37 s of CPU time in a complete run.
 */
export const CHEAP_HASHES: HashCost = { memoryCost: 8, timeCost: 1, parallelism: 1 }
