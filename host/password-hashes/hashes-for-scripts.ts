import { createHash } from 'node:crypto'
import type { Passwords } from '../../base/accounts/passwords.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import { hostCall } from '../../base/bundles/host-call.ts'
import type { PasswordHashesPort } from '../../plugins/security/host.ts'
import { CALL_KINDS } from '../../runtime/call-kinds.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createGate, createGates } from '../../runtime/gate.ts'
import { type Call, ScriptError } from '../../runtime/plugin.ts'
import type { NoteRefusal } from '../solutions/script-refusals.ts'
import { readHash } from './formats.ts'

export type HashesForScriptsParts = {
  readonly passwords: Passwords
  readonly throttle: Throttle
  readonly noteRefusal: NoteRefusal
  /** Maximum time in ms that a request waits for its turn. */
  readonly patience?: number
}

/** Maximum queue length per solution. */
const MOST_WAITING = 50
const PATIENCE = 5_000

/**
 * Checks and creates password hashes for scripts. Chosen here: each solution computes one hash at a time, so it delays
 * another solution by at most one hash. If the host can compute several hashes in parallel, it keeps one slot free for
 * the platform's own sign-ins.
 */
export function createHashesForScripts(parts: HashesForScriptsParts): PasswordHashesPort {
  const { passwords, throttle, noteRefusal, patience = PATIENCE } = parts
  const all = createGate(Math.max(1, passwords.width - 1))
  const ofSolution = createGates(1, 1 + MOST_WAITING)

  function inTurn<T>(solution: string, work: () => Promise<T>): Promise<T> {
    return ofSolution(solution, patience, () => afterOthers(work), refuse)
  }

  async function afterOthers<T>(work: () => Promise<T>): Promise<T> {
    if (!(await all.enter(patience))) throw busy()
    try {
      return await work()
    } finally {
      all.leave()
    }
  }

  function refuse(): never {
    throw busy()
  }

  /**
   * Throttles guesses for each stored hash, as sign-ins do for each account. Checks by an authenticator are exempt,
   * because the sign-in itself has already been counted.
   */
  async function counted(call: Call, hash: string | null, check: () => Promise<boolean>): Promise<boolean> {
    const { kind, onlyForm = null, address, solution } = hostCall(call)
    if (CALL_KINDS[kind].signsIn && onlyForm === null) return check()
    const attempt = { source: `hash ${solution.name}`, username: digestOf(hash ?? ''), address }
    // Without a hash there is no account, so the attempt counts only towards the network's limit.
    const hasNoAccount = hash === null
    const wait = await throttle.count(attempt, hasNoAccount)
    if (wait !== null) {
      const message = `too many attempts for this password hash: try again in ${wait} s`
      noteRefusal(call, message, 'throttled')
      throw new ScriptError(message)
    }
    const isRight = await check()
    if (isRight) await throttle.succeeded(attempt, hasNoAccount)
    return isRight
  }

  return {
    async check(call, password, hash) {
      const { name } = call.solution
      const check = hash === null ? null : readHash(hash)
      return counted(call, hash, () =>
        forScript(() =>
          inTurn(name, async () => {
            if (check === null) return passwords.verify(null, password)
            return passwords.run(() => check(password))
          }),
        ),
      )
    },
    hash: (call, password) => forScript(() => inTurn(call.solution.name, () => passwords.hash(password))),
  }
}

function digestOf(hash: string): string {
  return createHash('sha256').update(hash).digest('base64url')
}

function busy(): ScriptError {
  return new ScriptError('too many password hashes are being checked; try again in 2 seconds')
}

/** Replaces the platform's error for a busy host with one that scripts may see. */
async function forScript<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof PlatformError && error.code === 'ERR_PASSWORDS_BUSY' ? busy() : error
  }
}
