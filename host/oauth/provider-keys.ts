import type { CryptoKey } from 'jose'
import { fitsAlgorithm, importKey, isSameKey, type ProviderKey, readKeySet } from './key-set.ts'
import { OAuthProblem, quote } from './problems.ts'
import type { ProviderRequests } from './provider-requests.ts'
import { createRecentlyUsed } from './recently-used.ts'
import type { FindKey, TokenHeader } from './signed-token.ts'

/** Providers' public keys, cached separately for each solution. */
export interface ProviderKeys {
  /**
   * Finds the key that may have signed a token with this header. Concurrent callers share one request. Failures are not
   * cached, so the next sign-in tries again.
   * @throws OAuthProblem `oauth_token` if the key set has no such key, or several different ones; `oauth_provider` if
   *   the key set can't be fetched
   */
  find(solution: string, jwksUri: string, header: TokenHeader): Promise<CryptoKey>
  /**
   * Looks for another key if the signature does not match the key from `find`. The provider may have published a new
   * key under the same `kid`, or a new key without a `kid`. Fetches the key set again, within the same cool-down and
   * rate limit.
   * @returns null if there is no other key
   */
  findOther(solution: string, jwksUri: string, header: TokenHeader): Promise<CryptoKey | null>
}

/** Returns a function that finds the keys of one provider, to verify a token. */
export function findKey(keys: ProviderKeys, solution: string, jwksUri: string): FindKey {
  return (header, isRejected) => keys[isRejected ? 'findOther' : 'find'](solution, jwksUri, header)
}

/** How long a key set is cached, in ms. During this time, a withdrawn key is still accepted. */
const BELIEVED = 10 * 60_000
/** Minimum interval in ms between two requests for a key set, if unknown keys cause them. */
const COOL_DOWN = 5000
/**
 * Limits how often an unknown key causes a request for the key set: at first `most` times, then once every
 * `regainedEach` ms. Without a limit, anyone could cause requests by sending tokens that name unknown keys. A request
 * that finds the key is not counted, so a provider may rotate keys often.
 */
const BUDGET = { most: 2, regainedEach: 60_000 }
/** Maximum number of cached key sets, for all solutions together. */
const MOST_SETS = 200

type KeySetState = {
  keys: readonly ProviderKey[]
  /**
   * Both in epoch ms, or null before the first time: `readAt` is when `keys` were received, and `askedAt` is when the
   * last request ended.
   */
  readAt: number | null
  askedAt: number | null
  asking: Asking | null
  /** The number of requests that were left at the time `at` (epoch ms). */
  budget: { left: number; at: number }
}

type Asking = { readonly done: Promise<void>; isPaid: boolean }

/** @param now returns the current time in epoch milliseconds */
export function createProviderKeys(
  requests: Pick<ProviderRequests, 'getJson'>,
  now: () => number = Date.now,
): ProviderKeys {
  const sets = createRecentlyUsed<KeySetState>(MOST_SETS)

  function stateOf(solution: string, jwksUri: string): KeySetState {
    const id = JSON.stringify([solution, jwksUri])
    const known = sets.get(id)
    if (known !== undefined) return known
    const budget = { left: BUDGET.most, at: now() }
    const state: KeySetState = { keys: [], readAt: null, askedAt: null, asking: null, budget }
    sets.set(id, state)
    return state
  }

  /** Waits for the request in progress, or starts one. */
  function ask(state: KeySetState, jwksUri: string, isPaid: boolean): Asking {
    if (state.asking !== null) return state.asking
    const done = read(state, jwksUri).finally(() => {
      state.askedAt = now()
      state.asking = null
    })
    state.asking = { done, isPaid }
    return state.asking
  }

  async function read(state: KeySetState, jwksUri: string): Promise<void> {
    const value = await requests.getJson(jwksUri)
    state.keys = await readKeySet(value, `the key set of ${new URL(jwksUri).host}`)
    state.readAt = now()
  }

  /** @returns false if the rate limit currently doesn't allow a request */
  function pay(state: KeySetState): boolean {
    if (isWithin(COOL_DOWN, state.askedAt)) return false
    const regained = Math.max(0, now() - state.budget.at) / BUDGET.regainedEach
    const left = Math.min(BUDGET.most, state.budget.left + regained)
    if (left < 1) return false
    state.budget = { left: left - 1, at: now() }
    return true
  }

  function giveBack(state: KeySetState, asking: Asking): void {
    if (!asking.isPaid) return
    asking.isPaid = false
    state.budget.left = Math.min(BUDGET.most, state.budget.left + 1)
  }

  /**
   * Fetches the key set again.
   * @returns the matching key if it differs from `before`, otherwise null
   */
  async function askAnew(
    state: KeySetState,
    jwksUri: string,
    header: TokenHeader,
    before: ProviderKey | null,
  ): Promise<ProviderKey | null> {
    if (state.asking === null && !pay(state)) return null
    const asking = ask(state, jwksUri, true)
    await asking.done
    const brought = keyFor(state.keys, header)
    if (brought === null || (before !== null && isSameKey(before, brought))) return null
    giveBack(state, asking)
    return brought
  }

  /** If the clock was set back, treat the time as elapsed. */
  function isWithin(time: number, since: number | null): boolean {
    return since !== null && now() >= since && now() - since < time
  }

  return {
    async find(solution, jwksUri, header) {
      const state = stateOf(solution, jwksUri)
      if (!isWithin(BELIEVED, state.readAt)) await ask(state, jwksUri, false).done
      const known = keyFor(state.keys, header)
      if (known !== null) return importKey(known, header.alg)
      const brought = await askAnew(state, jwksUri, header, null)
      if (brought !== null) return importKey(brought, header.alg)
      const which = header.kid === null ? 'no key' : `no key ${quote(header.kid)}`
      throw new OAuthProblem('oauth_token', `the key set of ${new URL(jwksUri).host} has ${which} for ${header.alg}`)
    },
    async findOther(solution, jwksUri, header) {
      const state = stateOf(solution, jwksUri)
      const brought = await askAnew(state, jwksUri, header, keyFor(state.keys, header))
      return brought === null ? null : importKey(brought, header.alg)
    },
  }
}

/**
 * Chosen here: if several different keys match, none is used, because otherwise a signature by any of them would be
 * accepted. This happens if the token has no `kid`, or if two keys in the set have the same id.
 * @returns null if no key matches
 */
function keyFor(keys: readonly ProviderKey[], { alg, kid }: TokenHeader): ProviderKey | null {
  const [first, ...others] = keys.filter((key) => fitsAlgorithm(key, alg) && (kid === null || key.kid === kid))
  if (first === undefined) return null
  if (others.every((other) => isSameKey(first, other))) return first
  const which = kid === null ? 'without "kid"' : `with "kid" ${quote(kid)}`
  throw new OAuthProblem(
    'oauth_token',
    `the key set has ${others.length + 1} different keys for ${alg} that match a token ${which}`,
  )
}
