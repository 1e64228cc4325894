import type { Json } from '../../runtime/plugin.ts'
import { secretFields } from '../solutions/redact.ts'
import type { EntryRunner } from '../solutions/run-entry.ts'
import type { Asking } from './arrival.ts'
import { argumentOf } from './query-params.ts'
import type { SignInAnswer } from './sign-in-answer.ts'

/**
 * Calls `onSolutionOpen(arg, queryParams)` in the solution's authenticator for a user who is signing in.
 * @param fields the form's fields. Secret values in the fields and in the URL are not logged.
 */
export type AuthenticatorQuestion = (
  asking: Asking,
  params: Readonly<Record<string, Json>>,
  fields?: ReadonlyMap<string, string>,
) => Promise<SignInAnswer>

export function createAuthenticatorQuestion(runEntry: EntryRunner): AuthenticatorQuestion {
  return async ({ solution, locale, url, correlationId, serverUrl, address }, params, fields = new Map()) => {
    const { failure, effects, values } = await runEntry(solution, {
      unit: 'authenticator',
      entry: 'onSolutionOpen',
      args: [argumentOf(url), params],
      secrets: secretFields(new Map([...url, ...fields])),
      call: { kind: 'login', correlationId, user: null, account: null, address, locale, serverUrl },
    })
    if (failure !== null) return { kind: 'failed', failure }
    const { login } = effects
    return login === null ? { kind: 'refused', effects, values } : { kind: 'accepted', login, effects, user: null }
  }
}
