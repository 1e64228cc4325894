// What to do about each code, for docs/reference/codes.md. Of faults and warnings the command line says it (base/bundles/advice.ts).
import type { OAuthProblemCode } from '../host/oauth/problems.ts'
import type { ErrorCode } from '../runtime/errors.ts'
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

export const AFTER_ERRORS: Readonly<Record<ErrorCode, string>> = {
  ERR_BAD_REQUEST: 'Correct the request; `detail` says what could not be read.',
  ERR_UNAUTHENTICATED: 'Send `Authorization`: Basic with the admin account, or Bearer with an API token.',
  ERR_BROWSER_CREDENTIALS: 'Use an API token or a tool such as curl: a browser’s remembered password is not taken.',
  ERR_FORBIDDEN: 'Use a token whose scopes allow this, or the admin account.',
  ERR_NOT_A_NAVIGATION: 'Open the page in the address bar or by a link; it answers no script, frame or image.',
  ERR_NOT_ENCRYPTED:
    'Use the https address that `detail` names; a password or token that was sent here was sent unencrypted: change it.',
  ERR_FOREIGN_ORIGIN:
    'Send the form from the solution’s own page. Behind a proxy, look at `TRUSTED_PROXIES` and the headers that it sets.',
  ERR_NOT_FOUND: 'Correct the path; `/admin/api/openapi.json` lists those of the API.',
  ERR_SOLUTION_NOT_FOUND: 'Correct the name, or upload the solution: `GET /admin/api/solutions` lists what is there.',
  ERR_USER_NOT_FOUND: 'Correct the `uid`: `GET /admin/api/users` lists what is there.',
  ERR_VERSION_NOT_FOUND: 'Take a `sha256` of `versions` in `GET /admin/api/solutions/{name}`.',
  ERR_METHOD_NOT_ALLOWED: 'Use a method that the header `Allow` names.',
  ERR_BODY_SLOW: 'Send it again. If it fails again, send smaller bodies or use a faster connection.',
  ERR_NAME_DIFFERS: 'Upload to the address of the manifest’s `name`, or change the name in `solution.json`.',
  ERR_NAME_EXISTS: 'Choose another name, or change the one that is there by PATCH.',
  ERR_LAST_OWNER: 'Make another member an owner first.',
  ERR_FILE_EXISTS: 'Send `{"replace": true}` if the file that is there is to go.',
  ERR_VERSION_ACTIVE: 'Activate another version first, or delete the solution.',
  ERR_ROLLOUT_RUNNING: 'Continue, cancel or roll back the one that is under way; the message names the environment.',
  ERR_CHANGED_MEANWHILE: 'Look at it again: somebody else was first. Then send what you still want.',
  ERR_VERSION_IN_USE: 'The message says what needs the version: let go of that first.',
  ERR_RUN_GOING_ON: 'Wait for the run that goes on, or cancel it.',
  ERR_RUN_ENDED: 'Nothing: it has ended. Start another one.',
  ERR_BUILDER_FAILED: 'Read the run’s log: the builder says what is wrong. See whether `BUILDER_COMMAND` can be run.',
  ERR_REGISTRY_LOGIN:
    'Check the registry’s password, token or access keys on the Credentials page, and that they may push.',
  ERR_HEADERS_TOO_LARGE:
    'Send fewer or shorter headers; `detail` says how much is taken. In a browser, remove the cookies of that site.',
  ERR_BODY_TOO_LARGE: 'Send less; `detail` names the limit, which the operator can raise.',
  ERR_TOO_MANY_FIELDS: 'Send fewer fields, or ask the operator to raise `FORM_FIELDS`.',
  ERR_BUNDLE_TOO_LARGE:
    'Remove files that the solution does not need, or ask the operator to raise `BUNDLE_SIZE`, `BUNDLE_UNPACKED` or `BUNDLE_FILES`.',
  ERR_CONTENT_TYPE: 'Send the `Content-Type` that `detail` names, or the body uncompressed where it says so.',
  ERR_HOST_UNKNOWN:
    'Use the host’s own address, or add the name to `ALLOWED_HOSTS`, `PUBLIC_URL` or `SOLUTION_ORIGIN`.',
  ERR_BUNDLE_REFUSED: 'Mend what `faults` lists; `solhost check` shows the same with the lines.',
  ERR_REQUEST_INVALID: 'Correct the value that `detail` names.',
  ERR_THROTTLED: 'Wait for the time in `Retry-After`.',
  ERR_INTERNAL: 'Look up `correlationId` in the platform’s log, and report what stands there.',
  ERR_UPGRADE_REQUIRED:
    'Connect by WebSocket. If a browser did, the proxy does not pass `Upgrade` and `Connection` on.',
  ERR_MODE_UNAVAILABLE:
    'Connect the Satellite to its control center: set `ENVIRONMENT=onprem`, `CLOUD_URL` and `REMOTE_ENVIRONMENT_TOKEN`. Or choose another `authenticator`.',
  ERR_SOLUTION_BROKEN:
    'Read the solution’s log, mend the script that ends its processes, upload; `Retry-After` says when it is tried again.',
  ERR_OUTBOUND_INVALID: 'Correct the address or headers that the script or the settings give.',
  ERR_OUTBOUND_PRIVATE:
    'List the host in `HTTP_ALLOWED_HOSTS`, `OAUTH_ALLOWED_HOSTS` or, in the control center, `REGISTRY_ALLOWED_HOSTS`, if it shall be reached.',
  ERR_OUTBOUND_FAILED: 'See whether the other server runs, its name resolves and its certificate is valid.',
  ERR_OUTBOUND_SIZE: 'Ask for less, or raise `FETCH_SIZE` or `OAUTH_SIZE`.',
  ERR_OUTBOUND_TIME: 'See why the other server is slow, or raise `FETCH_TIME` or `OAUTH_TIME`.',
  ERR_SANDBOX_BUSY:
    'Try again after the time in `Retry-After`. If it goes on, give the host more processors or memory (`RUNTIME_XMX`).',
  ERR_MEMORY_FULL:
    'Try again after the time in `Retry-After`. If it goes on, raise `RUNTIME_XMX` or the container’s limit: [operating.md](../operating.md#memory).',
  ERR_PASSWORDS_BUSY:
    'Try again after the time in `Retry-After`. If it goes on, somebody tries many passwords: see the audit.',
  ERR_STORAGE_FULL: 'Delete artifacts or versions that nobody needs, or raise `ORGANISATION_STORAGE`.',
  ERR_DISK_FULL:
    'Free some space on the disk that the message names, or make it larger. You don’t need to restart anything: [operating.md](../operating.md#the-folder-platform_home).',
  ERR_TELEMETRY_BUSY:
    'Send it again after the time in Retry-After: hosts do. If it stays, look at the control center’s log and disk.',
  ERR_MAIL_UNAVAILABLE:
    'Set `SMTP_URL` and `MAIL_FROM` of the control center; if they are set, see in its log why mails are not taken.',
  ERR_DATABASE_UNREACHABLE: 'Start the database server, or mend the way to it; the host goes on by itself then.',
  ERR_CLOUD_UNREACHABLE:
    'See whether the control center runs and `CLOUD_URL` can be reached; the host goes on by itself then: [platform-cloud.md](../platform-cloud.md).',
  ERR_CLOUD_REFUSED:
    'Read the solution’s log: it says whether the token, the solution or the address is wrong: [platform-cloud.md](../platform-cloud.md).',
  ERR_MAINTENANCE: 'Wait, or end it: PUT `/admin/api/maintenance` with `{"on": false}`.',
  ERR_STOPPING: 'Try again in a moment: the host is being stopped or restarted.',
  ERR_PLATFORM_KEY:
    'Set the `PLATFORM_KEY` with which the database was written; all hosts of one database need the same.',
  ERR_PLUGIN_INVALID: 'Mend or remove the folder in `PLATFORM_HOME/plugins` that the message names.',
  ERR_CERTIFICATE:
    'The text says what the file is, and the command that converts it: [TLS](../tls.md#files-that-are-refused).',
  ERR_SETTINGS_INVALID: 'Correct the property that each line names.',
  ERR_DATABASE_FILE:
    'Restore a backup: [backup.md](../backup.md#restore). To start without the data, move the file away.',
  ERR_DATABASE_VERSION:
    'Start a version of the platform that is as new as the database or the backup, or restore a backup that was made before the upgrade.',
  ERR_PLATFORM_IN_USE:
    'Stop the hosts that use the folder or the database before a restore; let a restore end before a start. One that was cut off is run again.',
  ERR_BACKUP_INVALID: 'Take another backup: the file is none, or was cut off or changed. Nothing was restored.',
  ERR_BACKUP_FAILED: 'Do what the text says about the file or the database, and make the backup again.',
  ERR_RESTORE_NOT_EMPTY:
    'Set `PLATFORM_HOME` and `PLATFORM_DATABASE_NAME` to an empty folder and database, or say `--replace`: what is there then gives way.',
}
