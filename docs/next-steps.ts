// How to fix each code, for docs/reference/codes.md. The advice for errors is in base/http/errors.ts. The advice for
// errors and warnings in bundles is in base/bundles/advice.ts.
import type { OAuthProblemCode } from '../host/oauth/problems.ts'
import type { Failure } from '../runtime/outcome.ts'

export const AFTER_FAILURES: Readonly<Record<Failure, string>> = {
  script_error:
    'Look up the reference in the solution’s log, which shows the error with file, line and column. Then fix the script.',
  script_timeout:
    'Find the loop or the slow query or request. The operator can raise `CALL_TIME` or `AUTHENTICATOR_TIME`.',
  script_memory: 'Use less memory: query fewer rows, and don’t store lists in top-level variables.',
  script_crashed:
    'Look for a function call with a very large string, list or regular expression. If no script causes it, check the host’s memory.',
  script_quota: 'The log shows the limit and the usage. Do less in one call, or ask the operator to raise the limit.',
  sandbox_busy:
    'Retry after the time in `Retry-After`. If it keeps happening, the host needs more CPU cores or memory (`RUNTIME_XMX`).',
}

export const AFTER_OAUTH_PROBLEMS: Readonly<Record<OAuthProblemCode, string>> = {
  oauth_unknown_user:
    'Check how the authenticator handles the claims. To see them, have it write `sub` and `iss` to the log.',
  oauth_denied:
    'If the user cancelled, you don’t need to do anything. Otherwise, check the provider’s rules about who can use the application.',
  oauth_provider: 'Check the provider and the network. The log quotes the response.',
  oauth_token: 'The log shows which check failed. Compare `clientId`, `issuer` and the registration at the provider.',
  oauth_clock: 'Synchronize the host’s clock with NTP; the log shows both times.',
  oauth_configuration:
    'The log names the setting or quotes the provider’s error. Fix it in the manifest, the operator’s settings, `getOAuthConfig` or the registration at the provider.',
  oauth_script: 'The log shows the script’s error under the same reference. Fix the script.',
  oauth_busy: 'Try again in a moment. If it keeps happening, the host needs more CPU cores or memory.',
  oauth_expired:
    'You don’t need to do anything: the page offers to start again. If it keeps happening, check whether the browser accepts cookies.',
}
