import type { FactorAccount } from './factor-account.ts'
import type { Factor, FactorSet, Factors } from './factors.ts'
import type { PasskeyPlaces } from './passkey-places.ts'
import type { PasskeyPage, PasskeyPurpose, PasskeyRequests } from './passkey-requests.ts'

/**
 * The account's factors that can be used at the page's origin. `codesOnly`: the account has factors, but only a recovery
 * code can be used here. For example, its passkeys are for another name of the same host, or one seems to be a copy. An
 * attacker can open the page at any of the host's names, so the user still needs a second step. Passkeys for other
 * solutions' origins don't count.
 */
export type UsableFactors = { readonly passkey: boolean; readonly app: boolean; readonly codesOnly: boolean }

/** @param serverUrl the page's origin */
export function usableFactors(
  { factors, recoveryCodesLeft }: Pick<FactorSet, 'factors' | 'recoveryCodesLeft'>,
  serverUrl: string,
  { passkeyRequests }: { readonly passkeyRequests: { readonly places: Pick<PasskeyPlaces, 'at' | 'isShared'> } },
): UsableFactors {
  const place = passkeyRequests.places.at(serverUrl)
  const isUsable = ({ kind, rpId, refusedAt }: Factor) =>
    kind === 'passkey' && rpId === place?.rpId && refusedAt === null
  const [passkey, app] = [factors.some(isUsable), factors.some(({ kind }) => kind === 'app')]
  const isElsewhere = passkeyRequests.places.isShared && !passkey && !app && factors.length > 0
  return { passkey, app, codesOnly: isElsewhere && recoveryCodesLeft > 0 }
}

export function hasFactor({ passkey, app, codesOnly }: UsableFactors): boolean {
  return passkey || app || codesOnly
}

/** Returns the factors that a page offers. `passkey` contains the options for the browser, or null. */
export async function waysOf(
  page: PasskeyPage,
  purpose: PasskeyPurpose,
  account: FactorAccount,
  parts: { readonly factors: Pick<Factors, 'of'>; readonly passkeyRequests: Pick<PasskeyRequests, 'places' | 'ask'> },
): Promise<{ readonly passkey: string | null; readonly hasApp: boolean }> {
  const usable = usableFactors(await parts.factors.of(account), page.serverUrl, parts)
  const passkey = usable.passkey ? await parts.passkeyRequests.ask(page, purpose, account) : null
  return { passkey, hasApp: usable.app }
}

/** Returns the account's factors as its page at this origin lists them. */
export function shownFactors(
  { firstAskedAt: _, factors, ...set }: FactorSet,
  serverUrl: string,
  places: PasskeyPlaces,
) {
  const place = places.at(serverUrl)
  return {
    ...set,
    factors: factors.map((one) => ({ ...one, isElsewhere: one.kind === 'passkey' && one.rpId !== place?.rpId })),
    passkeys: { isOffered: place !== null, isBlocked: places.isBlockedByAddress(serverUrl) },
  }
}
