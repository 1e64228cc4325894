import { type ErrorCode, PlatformError } from '../../runtime/errors.ts'
import type { ErrorKind } from '../web/pages.ts'

export type ErrorRow = {
  readonly status: number
  /** Who can put it right: the one who sent the request, the solution's author, or the operator. */
  readonly fixedBy: 'caller' | 'solution' | 'operator'
  /** The text on the page that a person sees. Codes without one rarely reach a person. */
  readonly page?: ErrorKind
  /** The operator's own doing: nothing to report, and the message may be shown whatever the status is. */
  readonly isExpected?: true
  /** The message is shown although the status is 500 or more: it reveals nothing internal, and the caller needs it to continue. */
  readonly isShown?: true
  /** The next version of the solution may fix it. */
  readonly maybeFixedByVersion?: true
  /** What to do next, for docs/reference/codes.md. */
  readonly advice: string
}

/**
 * Every stable code of the platform's own errors. Outcomes of scripts (`script_error`, `script_timeout`, …) are a vocabulary of
 * their own: see `runtime/outcome.ts`.
 */
export const ERRORS = {
  ERR_BAD_REQUEST: {
    status: 400,
    fixedBy: 'caller',
    page: 'bad-request',
    advice: 'Correct the request; `detail` says what could not be read.',
  },
  ERR_UNAUTHENTICATED: {
    status: 401,
    fixedBy: 'caller',
    advice: 'Send `Authorization`: Basic with the admin account, or Bearer with an API token.',
  },
  ERR_BROWSER_CREDENTIALS: {
    status: 403,
    fixedBy: 'caller',
    page: 'forbidden',
    advice: 'Use an API token or a tool such as curl: a browser’s remembered password is not taken.',
  },
  ERR_FORBIDDEN: {
    status: 403,
    fixedBy: 'caller',
    page: 'no-right',
    advice: 'Use a token whose scopes allow this, or the admin account.',
  },
  ERR_NOT_A_NAVIGATION: {
    status: 403,
    fixedBy: 'caller',
    page: 'forbidden',
    advice: 'Open the page in the address bar or by a link; it answers no script, frame or image.',
  },
  ERR_NOT_ENCRYPTED: {
    status: 403,
    fixedBy: 'caller',
    advice:
      'Use the https address that `detail` names; a password or token that was sent here was sent unencrypted: change it.',
  },
  ERR_FOREIGN_ORIGIN: {
    status: 403,
    fixedBy: 'caller',
    page: 'forbidden',
    advice:
      'Send the form from the solution’s own page. Behind a proxy, look at `TRUSTED_PROXIES` and the headers that it sets.',
  },
  ERR_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    advice: 'Correct the path; `/admin/api/openapi.json` lists those of the API.',
  },
  ERR_SOLUTION_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    maybeFixedByVersion: true,
    advice: 'Correct the name, or upload the solution: `GET /admin/api/solutions` lists what is there.',
  },
  ERR_USER_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    advice: 'Correct the `uid`: `GET /admin/api/users` lists what is there.',
  },
  ERR_VERSION_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    advice: 'Take a `sha256` of `versions` in `GET /admin/api/solutions/{name}`.',
  },
  ERR_METHOD_NOT_ALLOWED: {
    status: 405,
    fixedBy: 'caller',
    page: 'method',
    advice: 'Use a method that the header `Allow` names.',
  },
  ERR_BODY_SLOW: {
    status: 408,
    fixedBy: 'caller',
    advice: 'Send it again. If it fails again, send smaller bodies or use a faster connection.',
  },
  ERR_NAME_DIFFERS: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Upload to the address of the manifest’s `name`, or change the name in `solution.json`.',
  },
  ERR_NAME_EXISTS: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Choose another name, or change the one that is there by PATCH.',
  },
  ERR_LAST_OWNER: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Make another member an owner first.',
  },
  ERR_FILE_EXISTS: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Send `{"replace": true}` if the file that is there is to go.',
  },
  ERR_VERSION_ACTIVE: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Activate another version first, or delete the solution.',
  },
  ERR_VERSION_IN_USE: {
    status: 409,
    fixedBy: 'caller',
    advice: 'The message says what needs the version: let go of that first.',
  },
  ERR_RUN_GOING_ON: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Wait for the run that goes on, or cancel it.',
  },
  ERR_RUN_ENDED: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Nothing: it has ended. Start another one.',
  },
  ERR_ROLLOUT_RUNNING: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Continue, cancel or roll back the one that is under way; the message names the environment.',
  },
  ERR_CHANGED_MEANWHILE: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Look at it again: somebody else was first. Then send what you still want.',
  },
  ERR_BODY_TOO_LARGE: {
    status: 413,
    fixedBy: 'caller',
    page: 'too-large',
    advice: 'Send less; `detail` names the limit, which the operator can raise.',
  },
  ERR_TOO_MANY_FIELDS: {
    status: 413,
    fixedBy: 'caller',
    page: 'too-large',
    advice: 'Send fewer fields, or ask the operator to raise `FORM_FIELDS`.',
  },
  ERR_BUNDLE_TOO_LARGE: {
    status: 413,
    fixedBy: 'caller',
    advice:
      'Remove files that the solution does not need, or ask the operator to raise `BUNDLE_SIZE`, `BUNDLE_UNPACKED` or `BUNDLE_FILES`.',
  },
  ERR_CONTENT_TYPE: {
    status: 415,
    fixedBy: 'caller',
    page: 'content-type',
    advice: 'Send the `Content-Type` that `detail` names, or the body uncompressed where it says so.',
  },
  ERR_HOST_UNKNOWN: {
    status: 421,
    fixedBy: 'caller',
    page: 'unknown-host',
    advice: 'Use the host’s own address, or add the name to `ALLOWED_HOSTS`, `PUBLIC_URL` or `SOLUTION_ORIGIN`.',
  },
  ERR_BUNDLE_REFUSED: {
    status: 422,
    fixedBy: 'solution',
    advice: 'Mend what `faults` lists; `solhost check` shows the same with the lines.',
  },
  ERR_REQUEST_INVALID: {
    status: 422,
    fixedBy: 'caller',
    advice: 'Correct the value that `detail` names.',
  },
  ERR_THROTTLED: {
    status: 429,
    fixedBy: 'caller',
    page: 'throttled',
    advice: 'Wait for the time in `Retry-After`.',
  },
  ERR_HEADERS_TOO_LARGE: {
    status: 431,
    fixedBy: 'caller',
    advice:
      'Send fewer or shorter headers; `detail` says how much is taken. In a browser, remove the cookies of that site.',
  },
  ERR_INTERNAL: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Look up `correlationId` in the platform’s log, and report what stands there.',
  },
  ERR_UPGRADE_REQUIRED: {
    status: 426,
    fixedBy: 'caller',
    advice: 'Connect by WebSocket. If a browser did, the proxy does not pass `Upgrade` and `Connection` on.',
  },
  ERR_MODE_UNAVAILABLE: {
    status: 503,
    fixedBy: 'operator',
    page: 'mode-unavailable',
    isExpected: true,
    maybeFixedByVersion: true,
    advice:
      'Connect the Satellite to its control center: set `ENVIRONMENT=onprem`, `CLOUD_URL` and `REMOTE_ENVIRONMENT_TOKEN`. Or choose another `authenticator`.',
  },
  ERR_SOLUTION_BROKEN: {
    status: 503,
    fixedBy: 'solution',
    page: 'broken',
    maybeFixedByVersion: true,
    advice:
      'Read the solution’s log, mend the script that ends its processes, upload; `Retry-After` says when it is tried again.',
  },
  ERR_OUTBOUND_INVALID: {
    status: 500,
    fixedBy: 'solution',
    advice: 'Correct the address or headers that the script or the settings give.',
  },
  ERR_OUTBOUND_PRIVATE: {
    status: 502,
    fixedBy: 'operator',
    advice:
      'List the host in `HTTP_ALLOWED_HOSTS`, `OAUTH_ALLOWED_HOSTS` or, in the control center, `REGISTRY_ALLOWED_HOSTS`, if it shall be reached.',
  },
  ERR_OUTBOUND_FAILED: {
    status: 502,
    fixedBy: 'operator',
    advice: 'See whether the other server runs, its name resolves and its certificate is valid.',
  },
  ERR_OUTBOUND_SIZE: {
    status: 502,
    fixedBy: 'operator',
    advice: 'Ask for less, or raise `FETCH_SIZE` or `OAUTH_SIZE`.',
  },
  ERR_OUTBOUND_TIME: {
    status: 504,
    fixedBy: 'operator',
    advice: 'See why the other server is slow, or raise `FETCH_TIME` or `OAUTH_TIME`.',
  },
  ERR_SANDBOX_BUSY: {
    status: 503,
    fixedBy: 'operator',
    page: 'busy',
    maybeFixedByVersion: true,
    advice:
      'Try again after the time in `Retry-After`. If it goes on, give the host more processors or memory (`RUNTIME_XMX`).',
  },
  ERR_MEMORY_FULL: {
    status: 503,
    fixedBy: 'operator',
    page: 'busy',
    advice:
      'Try again after the time in `Retry-After`. If it goes on, raise `RUNTIME_XMX` or the container’s limit: [operating.md](../operating.md#memory).',
  },
  ERR_PASSWORDS_BUSY: {
    status: 503,
    fixedBy: 'operator',
    page: 'busy',
    advice: 'Try again after the time in `Retry-After`. If it goes on, somebody tries many passwords: see the audit.',
  },
  ERR_MAIL_UNAVAILABLE: {
    status: 503,
    fixedBy: 'operator',
    advice:
      'Set `SMTP_URL` and `MAIL_FROM` of the control center; if they are set, see in its log why mails are not taken.',
  },
  ERR_STORAGE_FULL: {
    status: 507,
    fixedBy: 'caller',
    isShown: true,
    advice: 'Delete artifacts or versions that nobody needs, or raise `ORGANISATION_STORAGE`.',
  },
  ERR_DISK_FULL: {
    status: 507,
    fixedBy: 'operator',
    isShown: true,
    advice:
      'Free some space on the disk that the message names, or make it larger. You don’t need to restart anything: [operating.md](../operating.md#the-folder-platform_home).',
  },
  ERR_TELEMETRY_BUSY: {
    status: 503,
    fixedBy: 'operator',
    advice:
      'Send it again after the time in Retry-After: hosts do. If it stays, look at the control center’s log and disk.',
  },
  ERR_DATABASE_UNREACHABLE: {
    status: 503,
    fixedBy: 'operator',
    page: 'database',
    advice: 'Start the database server, or mend the way to it; the host goes on by itself then.',
  },
  ERR_CLOUD_UNREACHABLE: {
    status: 503,
    fixedBy: 'operator',
    advice:
      'See whether the control center runs and `CLOUD_URL` can be reached; the host goes on by itself then: [platform-cloud.md](../platform-cloud.md).',
  },
  ERR_CLOUD_REFUSED: {
    status: 503,
    fixedBy: 'operator',
    advice:
      'Read the solution’s log: it says whether the token, the solution or the address is wrong: [platform-cloud.md](../platform-cloud.md).',
  },
  ERR_MAINTENANCE: {
    status: 503,
    fixedBy: 'operator',
    page: 'maintenance',
    isExpected: true,
    advice: 'Wait, or end it: PUT `/admin/api/maintenance` with `{"on": false}`.',
  },
  ERR_STOPPING: {
    status: 503,
    fixedBy: 'operator',
    page: 'stopping',
    advice: 'Try again in a moment: the host is being stopped or restarted.',
  },
  ERR_BUILDER_FAILED: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Read the run’s log: the builder says what is wrong. See whether `BUILDER_COMMAND` can be run.',
  },
  ERR_REGISTRY_LOGIN: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Check the registry’s password, token or access keys on the Credentials page, and that they may push.',
  },
  ERR_PLATFORM_KEY: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Set the `PLATFORM_KEY` with which the database was written; all hosts of one database need the same.',
  },
  ERR_PLUGIN_INVALID: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Mend or remove the folder in `PLATFORM_HOME/plugins` that the message names.',
  },
  ERR_SETTINGS_INVALID: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Correct the property that each line names.',
  },
  ERR_CERTIFICATE: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'The text says what the file is, and the command that converts it: [TLS](../tls.md#files-that-are-refused).',
  },
  ERR_DATABASE_FILE: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Restore a backup: [backup.md](../backup.md#restore). To start without the data, move the file away.',
  },
  ERR_DATABASE_VERSION: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Start a version of the platform that is as new as the database or the backup, or restore a backup that was made before the upgrade.',
  },
  ERR_PLATFORM_IN_USE: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Stop the hosts that use the folder or the database before a restore; let a restore end before a start. One that was cut off is run again.',
  },
  ERR_BACKUP_INVALID: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Take another backup: the file is none, or was cut off or changed. Nothing was restored.',
  },
  ERR_BACKUP_FAILED: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Do what the text says about the file or the database, and make the backup again.',
  },
  ERR_RESTORE_NOT_EMPTY: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Set `PLATFORM_HOME` and `PLATFORM_DATABASE_NAME` to an empty folder and database, or say `--replace`: what is there then gives way.',
  },
} as const satisfies Record<string, ErrorRow>

declare module '../../runtime/errors.ts' {
  interface ErrorCodes extends Record<keyof typeof ERRORS, unknown> {}
}

export function rowOf(code: ErrorCode): ErrorRow {
  return ERRORS[code]
}

export function statusOf({ code }: PlatformError): number {
  return ERRORS[code].status
}

/** Whether it is the request that was wrong, so that whoever sent it may see the message. */
export function isRefusal(error: unknown): error is PlatformError {
  return error instanceof PlatformError && statusOf(error) < 500
}
