import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, parseOptions, verify } from '@node-rs/argon2'
import { PlatformError } from '../../runtime/errors.ts'
import { createGate, type Gate } from '../../runtime/gate.ts'
import { normalized } from '../program/normalized.ts'

/** Argon2id's parameters: memory in KiB, passes, and lanes. */
export type HashCost = { readonly memoryCost: number; readonly timeCost: number; readonly parallelism: number }

/** Argon2id, 19 MiB, t=2, p=1, as OWASP recommends. The library's default algorithm is Argon2id. */
const ARGON2: HashCost = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/**
 * Maximum number of parallel hashes. libuv has four threads, and one must stay free for file access and DNS lookups.
 */
const MOST_AT_ONCE = 3
/** Maximum number of queued hashes, about 4 s of work for one core. Further requests fail with ERR_PASSWORDS_BUSY. */
const MOST_WAITING = 200
/** Maximum time in the queue, in ms. */
const PATIENCE = 5_000

export interface Passwords {
  /**
   * @param options.patient whether to wait in the queue without a time limit, as an import does. By default, the time
   * limit of `verify` applies.
   * @throws ERR_PASSWORDS_BUSY
   */
  hash(password: string, options?: { readonly patient: boolean }): Promise<string>
  /**
   * @param passwordHash null if there is none. The result is then false, but takes as long as for an existing hash.
   * @throws ERR_PASSWORDS_BUSY if too many passwords are being checked. This password was then not checked.
   */
  verify(passwordHash: string | null, password: string): Promise<boolean>
  /** Runs other hashing work, in the same queue as the passwords. @throws ERR_PASSWORDS_BUSY */
  run<T>(work: () => Promise<T>): Promise<T>
  /** The number of jobs that run in parallel. */
  readonly width: number
  /** Whether a hash has weaker parameters than new hashes. */
  needsRehash(passwordHash: string): boolean
}

/**
 * Checks and creates hashes off the event loop. Runs one per core in parallel, but at most three.
 * @param options.cost for tests. New hashes cost this much
 */
export function createPasswords(
  options: {
    readonly gate?: Gate
    readonly mostWaiting?: number
    readonly patience?: number
    readonly cost?: HashCost | undefined
  } = {},
): Passwords {
  const { mostWaiting = MOST_WAITING, patience = PATIENCE, cost = ARGON2 } = options
  const width = Math.min(availableParallelism(), MOST_AT_ONCE)
  const gate = options.gate ?? createGate(width)
  const nobodys = randomHash(cost)
  let waiting = 0

  /**
   * Queues `work`.
   * @throws ERR_PASSWORDS_BUSY if the queue is full or the work waited too long; in both cases, `work` was not run
   */
  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (waiting >= mostWaiting) throw busy()
    waiting++
    const entered = await gate.enter(patience).finally(() => waiting--)
    if (!entered) throw busy()
    return finish(work)
  }

  async function finish<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      gate.leave()
    }
  }

  return {
    async hash(password, { patient } = { patient: false }) {
      if (!patient) return inTurn(() => hashPassword(password, cost))
      await gate.enter()
      return finish(() => hashPassword(password, cost))
    },
    verify: (passwordHash, password) =>
      inTurn(async () => {
        const isRight = await verifyPassword(passwordHash ?? nobodys, password)
        return isRight && passwordHash !== null
      }),
    run: inTurn,
    width,
    needsRehash: (passwordHash) => isWeaker(passwordHash, cost),
  }
}

/** A hash in Argon2's encoded form. Takes about 20 ms on a thread of libuv's pool. */
export function hashPassword(password: string, cost = ARGON2): Promise<string> {
  return hash(prepare(password), cost)
}

/**
 * Returns a hash of no password. Checking any password against it takes as long as for a user's hash.
 * @see https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
 */
function randomHash({ memoryCost, timeCost, parallelism }: HashCost): string {
  const [salt, digest] = [16, 32].map((bytes) => randomBytes(bytes).toString('base64').replaceAll('=', ''))
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${salt}$${digest}`
}

export function verifyPassword(passwordHash: string, password: string): Promise<boolean> {
  return verify(passwordHash, prepare(password))
}

function isWeaker(passwordHash: string, cost: HashCost): boolean {
  const options = parseOptions(passwordHash)
  return (
    options.memoryCost < cost.memoryCost || options.timeCost < cost.timeCost || options.parallelism < cost.parallelism
  )
}

/**
 * Normalises to NFC, as RFC 8265 (OpaqueString) specifies, so that the same letters are the same password on every
 * keyboard. NFKC would make different passwords equal.
 */
function prepare(password: string): string {
  return normalized(password, 'NFC')
}

/**
 * Chosen here: this error has a separate code. `ERR_THROTTLED` (429) would claim that the caller sent too many
 * requests, but this caller may have sent only one. `ERR_SANDBOX_BUSY` would make the operator look at the wrong
 * processes.
 */
function busy(): PlatformError {
  return new PlatformError('ERR_PASSWORDS_BUSY', 'Too many passwords are being checked; try again in 2 seconds.', {
    retryAfter: 2,
  })
}
