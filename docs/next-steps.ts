// What to do about each code, for docs/reference/codes.md. Of errors their table says it (base/http/errors.ts), of faults and
// warnings the command line (base/bundles/advice.ts).
import type { OAuthProblemCode } from '../host/oauth/problems.ts'
import type { Failure } from '../runtime/outcome.ts'

export const AFTER_FAILURES: Readonly<Record<Failure, string>> = {
  script_error:
    'Look up the reference in the solution’s log: it has the error with file, line and column. Mend the script.',
  script_timeout:
    'Find what it waits for or repeats. A query or request that takes long counts too. The operator can raise `CALL_TIME` or `AUTHENTICATOR_TIME`.',
  script_memory: 'Keep less at once: ask the database for fewer rows, keep lists out of variables at the top level.',
  script_crashed:
    'Look for a call with a huge text, list or pattern. If no script is at fault, look at the host’s memory.',
  script_quota:
    'The log names the limit and what was used. Do less in one call, or ask the operator to raise the limit.',
  sandbox_busy:
    'Try again after the time in `Retry-After`. If it goes on, the host needs more processors or memory (`RUNTIME_XMX`).',
}

export const AFTER_OAUTH_PROBLEMS: Readonly<Record<OAuthProblemCode, string>> = {
  oauth_unknown_user: 'Look at what the authenticator does with the claims; write `sub` and `iss` into the log once.',
  oauth_denied: 'Nothing, if the user cancelled. Else look at the provider’s rules for who may use the application.',
  oauth_provider: 'Look at the provider and the network between; the log quotes what came.',
  oauth_token: 'The log says which check failed. Compare `clientId`, `issuer` and the registration at the provider.',
  oauth_clock: 'Set the host’s clock by NTP; the log has both times.',
  oauth_configuration:
    'The log names the setting. Correct it in the manifest, the operator’s settings or `getOAuthConfig`.',
  oauth_script: 'The log has the script’s own failure under the same reference. Mend the script.',
  oauth_busy: 'Try again in a moment. If it goes on, the host needs more processors or memory.',
  oauth_expired: 'Nothing: the page offers to begin anew. If it comes always, see whether the browser takes cookies.',
}
