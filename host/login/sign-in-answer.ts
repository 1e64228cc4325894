import type { User } from '../../base/accounts/users.ts'
import type { Effects } from '../../base/bundles/host-call.ts'
import type { Login } from '../../plugins/security/host.ts'
import type { Failed } from '../../runtime/outcome.ts'

/**
 * What a source says of somebody. Refusals are answers; `failed` means that it could not say. `state`: what the login page
 * says of the refusal, `refused` unless given.
 */
export type SignInAnswer =
  | { readonly kind: 'accepted'; readonly login: Login; readonly effects: Effects; readonly user: User | null }
  | {
      readonly kind: 'refused'
      readonly effects: Effects
      readonly values: Readonly<Record<string, unknown>>
      readonly state?: 'verify'
    }
  | { readonly kind: 'failed'; readonly failure: Failed }

export type Accepted = Extract<SignInAnswer, { kind: 'accepted' }>
