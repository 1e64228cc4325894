import type { CryptoKey } from 'jose'
import { fitsAlgorithm, importKey, isSameKey, type ProviderKey, readKeySet } from './key-set.ts'
import { OAuthProblem, quote } from './problems.ts'
import type { ProviderRequests } from './provider-requests.ts'
import { createRecentlyUsed } from './recently-used.ts'
import type { FindKey, TokenHeader } from './signed-token.ts'

/** The public keys of providers, held for each solution apart. */
export interface ProviderKeys {
  /**
   * The one key that may have signed a token with this header. Callers at the same time share one request; one that failed
   * is not held, so the next sign-in asks again.
   * @throws OAuthProblem `oauth_token` where the key set has no such key, or leaves open which one it is;
   *   `oauth_provider` where the key set cannot be had
   */
  find(solution: string, jwksUri: string, header: TokenHeader): Promise<CryptoKey>
  /**
   * Another key with the same name, or of a set whose keys have none, where the one that `find` gave does not fit: the key set
   * is asked for anew, within the same cool-down and budget.
   * @returns null where there is no other
   */
  findOther(solution: string, jwksUri: string, header: TokenHeader): Promise<CryptoKey | null>
}

/** The keys of one provider, for the check of a token. */
export function findKey(keys: ProviderKeys, solution: string, jwksUri: string): FindKey {
  return (header, isRejected) => keys[isRejected ? 'findOther' : 'find'](solution, jwksUri, header)
}

/** How long a key set is believed, in ms: so long a key that the provider withdrew still counts. */
const BELIEVED = 10 * 60_000
/** How soon after a request the same key set may be asked for again because of an unknown key, in ms. */
const COOL_DOWN = 5000
/**
 * Requests because of an unknown key, for each key set: so many at once, and one more each minute. Anybody can make up
 * tokens with unknown keys; one that brought the key is given back, so that a provider may change its keys often.
 */
const BUDGET = { most: 2, regainedEach: 60_000 }
/** Key sets that are held, over all solutions. */
const MOST_SETS = 200

type KeySetState = {
  keys: readonly ProviderKey[]
  /** When `keys` came and when the key set was last asked for, in epoch ms; null: never. */
  readAt: number | null
  askedAt: number | null
  asking: Asking | null
  /** What of the budget was left, and when, in epoch ms. */
  budget: { left: number; at: number }
}

type Asking = { readonly done: Promise<void>; isPaid: boolean }

/** @param now the clock, in epoch milliseconds */
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

  /** Joins the request that is under way, or makes one. */
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

  /** @returns false when it may not be asked for now */
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

  /** @returns the key that fits now, if it is another than `before` */
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

  /** A clock that was set back counts as time that is over. */
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
 * Chosen here: where several different keys could be meant, none is taken, be it that the token names no key or that the
 * set has the name twice. Else a signature would count by whichever key it fits.
 * @returns null when there is none
 */
function keyFor(keys: readonly ProviderKey[], { alg, kid }: TokenHeader): ProviderKey | null {
  const [first, ...others] = keys.filter((key) => fitsAlgorithm(key, alg) && (kid === null || key.kid === kid))
  if (first === undefined) return null
  if (others.every((other) => isSameKey(first, other))) return first
  const which = kid === null ? 'that names no key' : `that names the key ${quote(kid)}`
  throw new OAuthProblem('oauth_token', `a token ${which} fits ${others.length + 1} keys for ${alg} of the key set`)
}
