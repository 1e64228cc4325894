import type { ActiveSolution } from '../../../base/bundles/active-solution.ts'
import { noEffects } from '../../../base/bundles/host-call.ts'
import { permissionsOf } from '../../../base/bundles/prepared-solution.ts'
import { type AuthenticateAnswer, AuthenticateRequest, RefreshRequest } from '../../../base/protocol/protocol.ts'
import { isPlain, type Login, type Tenant } from '../../../plugins/security/host.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import { isVisible } from '../../../runtime/visible-name.ts'
import type { FormSource } from '../../login/account-sources.ts'
import type { Asking } from '../../login/arrival.ts'
import { customFields } from '../../login/query-params.ts'
import type { SignInAnswer } from '../../login/sign-in-answer.ts'
import type { CloudAnswer, CloudFailure, CloudLoginRequests } from './login-requests.ts'
import type { CloudLoginProblems } from './problems.ts'

export type CloudSourceParts = {
  readonly requests: Pick<CloudLoginRequests, 'authenticate' | 'refresh'>
  readonly problems: Pick<CloudLoginProblems, 'found' | 'reached'>
  readonly stopped: AbortSignal
  /** Returns the current time, in epoch ms. */
  readonly now: () => number
}

/** Retry delay in seconds if the control center is unavailable and sent no Retry-After. */
const AWAY_FOR = 10

/**
 * The users that the control center manages (authenticator PLATFORM_CLOUD). If the control center neither accepts nor
 * rejects a user, `check` and `recheck` throw ERR_CLOUD_UNREACHABLE, ERR_CLOUD_REFUSED or ERR_THROTTLED.
 * ERR_CLOUD_REFUSED means that the operator has to fix something. After these errors, the browser's cookies and the
 * remembered login stay unchanged.
 */
export function createCloudSource({ requests, problems, stopped, now }: CloudSourceParts): FormSource {
  function read({ solution }: Asking, answer: CloudAnswer<AuthenticateAnswer>): AuthenticateAnswer {
    if (answer.kind === 'said') {
      problems.reached(solution.name)
      return answer.value
    }
    if (answer.kind === 'throttled') {
      problems.reached(solution.name)
      throw new PlatformError('ERR_THROTTLED', 'Too many sign-in attempts. Try again later.', {
        retryAfter: answer.retryAfter,
      })
    }
    throw answer.kind === 'unchanged'
      ? useless(solution, 'the control center returned HTTP 304')
      : failed(solution, answer)
  }

  function failed(solution: ActiveSolution, { kind, why, retryAfter }: CloudFailure): PlatformError {
    if (!stopped.aborted) problems.found(solution.name, kind, why)
    const code = kind === 'away' ? 'ERR_CLOUD_UNREACHABLE' : 'ERR_CLOUD_REFUSED'
    return new PlatformError(
      code,
      `Users of "${solution.name}" cannot sign in at the moment: ${why}. The solution’s log shows what to do.`,
      {
        retryAfter: retryAfter ?? (kind === 'away' ? AWAY_FOR : 60),
      },
    )
  }

  function useless(solution: ActiveSolution, why: string): PlatformError {
    return failed(solution, { kind: 'answer', why, retryAfter: null })
  }

  /** @param uid the only user that the response may be about; null allows any user */
  function answerOf({ solution }: Asking, said: AuthenticateAnswer, uid: string | null): SignInAnswer {
    if (said.outcome === 'refused') return refused(said.reason)
    const { username, tenant } = said
    if (uid !== null && said.uid !== uid)
      throw useless(solution, 'the control center’s response is for a different user')
    if (!isPlain(username) || !isPlain(said.uid) || !isPlainTenant(tenant)) {
      throw useless(
        solution,
        'the username, uid or tenant in the control center’s response contains control characters or characters that change the text direction',
      )
    }
    // Ignore permissions that this solution does not list, because they belong to other solutions. The users table does
    // the same.
    const listed = permissionsOf(solution)
    const permissions = [...new Set(said.permissions)].filter(
      (name) => isVisible(name) && (listed?.includes(name) ?? true),
    )
    if (permissions.length === 0) return refused('credentials')
    const login: Login = { username, uid: said.uid, permissions }
    const effects = { ...noEffects(), login, tenant: tenant === null || tenant.length === 0 ? null : tenant }
    return { kind: 'accepted', login, effects, user: null }
  }

  /** @param since when the user last signed in with credentials, in epoch ms */
  async function refresh(asking: Asking, uid: string, since: number): Promise<SignInAnswer> {
    const asked = RefreshRequest.parse({ uid, since })
    return answerOf(asking, read(asking, await requests.refresh(asking.solution.name, asked)), uid)
  }

  return {
    name: 'cloud',
    method: 'cloud',
    countedAs: (solution) => `cloud ${solution.name}`,
    async check(asking, fields) {
      const custom = customFields(asking.url, fields)
      const asked = AuthenticateRequest.safeParse({
        username: fields.get('username') ?? '',
        password: fields.get('password') ?? '',
        address: asking.address,
        ...(Object.keys(custom).length === 0 ? {} : { custom }),
      })
      // If the name or password exceeds the protocol's limits, the control center has no such user. Don't send the
      // request.
      if (!asked.success) return refused('credentials')
      return answerOf(asking, read(asking, await requests.authenticate(asking.solution.name, asked.data)), null)
    },
    // The user has just used the passkey. This is treated like a sign-in with credentials.
    checkPasskey: (asking, { account }) => refresh(asking, account.uid, now()),
    recheck: (asking, { uid, lastLoginAt }) => refresh(asking, uid, lastLoginAt),
    // The control center has just confirmed that the user has access. If they lose it afterwards, the next use of the
    // remembered login fails.
    stillHolds: async () => true,
  }
}

function isPlainTenant(tenant: Tenant | null): boolean {
  return tenant === null || tenant.every((value) => typeof value === 'number' || value.isWellFormed())
}

function refused(reason: 'credentials' | 'verify'): SignInAnswer {
  const answer = { kind: 'refused', effects: noEffects(), values: {} } as const
  return reason === 'verify' ? { ...answer, state: 'verify' } : answer
}
