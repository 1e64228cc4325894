import { createPasswords, type HashCost } from '../../base/accounts/passwords.ts'

/**
 * Real password hashing with the least memory and time. Hosts and control centers in tests use it. With the default
 * cost, their hashes took 37 s of CPU time in a complete run.
 */
export const CHEAP_HASHES: HashCost = { memoryCost: 8, timeCost: 1, parallelism: 1 }

/** Hashes cheaply, for tests of the code that calls it. Other tests check hashing with the default cost. */
export const cheapPasswords = createPasswords({ cost: CHEAP_HASHES })
