import type { User } from '../../base/accounts/users.ts'
import type { Effects } from '../../base/bundles/host-call.ts'
import type { Login } from '../../plugins/security/host.ts'
import type { Failed } from '../../runtime/outcome.ts'

/**
 * An account source's decision about a user. `failed` means that the source could not decide. `state` is the state of
 * the login page after a rejection, by default `refused`.
 */
export type SignInAnswer =
  | { readonly kind: 'accepted'; readonly login: Login; readonly effects: Effects; readonly user: User | null }
  | {
      readonly kind: 'refused'
      readonly effects: Effects
      readonly values: Readonly<Record<string, unknown>>
      readonly state?: 'verify' | 'passkeyRefused'
    }
  | { readonly kind: 'failed'; readonly failure: Failed }

export type Accepted = Extract<SignInAnswer, { kind: 'accepted' }>
