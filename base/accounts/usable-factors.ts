import type { Factor, FactorSet } from './factors.ts'
import type { PasskeyPlaces } from './passkey-places.ts'

/** The account's factors that can be used at the page's origin. */
export type UsableFactors = { readonly passkey: boolean; readonly app: boolean }

/** @param serverUrl the page's origin */
export function usableFactors(
  { factors }: Pick<FactorSet, 'factors'>,
  serverUrl: string,
  { passkeyRequests }: { readonly passkeyRequests: { readonly places: Pick<PasskeyPlaces, 'at'> } },
): UsableFactors {
  const place = passkeyRequests.places.at(serverUrl)
  const isUsable = ({ kind, rpId, refusedAt }: Factor) =>
    kind === 'passkey' && rpId === place?.rpId && refusedAt === null
  return { passkey: factors.some(isUsable), app: factors.some(({ kind }) => kind === 'app') }
}
