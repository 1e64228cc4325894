import { type ErrorCode, PlatformError } from '../../runtime/errors.ts'
import type { ErrorKind } from '../web/pages.ts'

export type ErrorRow = {
  readonly status: number
  /** Who can fix the error: the sender of the request, the solution's author, or the operator. */
  readonly fixedBy: 'caller' | 'solution' | 'operator'
  /** The text on the error page. If it is absent, the error is rarely shown to a person. */
  readonly page?: ErrorKind
  /**
   * The operator's settings cause the error, so it isn't logged. Its message is shown even if the status is 500 or
   * higher.
   */
  readonly isExpected?: true
  /**
   * The message is shown even if the status is 500 or higher. It reveals nothing internal, and the caller needs it to
   * continue.
   */
  readonly isShown?: true
  /** The next version of the solution may fix the error. */
  readonly maybeFixedByVersion?: true
  /** What to do next, for docs/reference/codes.md. */
  readonly advice: string
}

/**
 * Every stable code of the platform's errors. Script outcomes (`script_error`, `script_timeout`, …) are separate codes:
 * see `runtime/outcome.ts`.
 */
export const ERRORS = {
  ERR_BAD_REQUEST: {
    status: 400,
    fixedBy: 'caller',
    page: 'bad-request',
    advice: 'Fix the request; `detail` shows which part could not be read.',
  },
  ERR_UNAUTHENTICATED: {
    status: 401,
    fixedBy: 'caller',
    advice: 'Send an `Authorization` header: Basic with the admin account’s credentials, or Bearer with an API token.',
  },
  ERR_BROWSER_CREDENTIALS: {
    status: 403,
    fixedBy: 'caller',
    page: 'forbidden',
    advice: 'Use an API token, or a tool such as curl. The API rejects passwords that a browser has saved.',
  },
  ERR_FORBIDDEN: {
    status: 403,
    fixedBy: 'caller',
    page: 'no-right',
    advice: 'Use a token whose scopes allow this, or the admin account.',
  },
  ERR_SECOND_FACTOR_NEEDED: {
    status: 403,
    fixedBy: 'caller',
    advice: 'On the admin pages, create an API token with the scope `admin`, and send it as a Bearer token.',
  },
  ERR_CONFIRMATION_NEEDED: {
    status: 403,
    fixedBy: 'caller',
    advice:
      'Open `/admin/confirm`, or `/confirm` in the control center, to confirm that it’s you. Then repeat the change within the time set by `CONFIRMED_FOR`.',
  },
  ERR_NOT_A_NAVIGATION: {
    status: 403,
    fixedBy: 'caller',
    page: 'forbidden',
    advice: 'Open the page from the address bar or a link. It doesn’t respond to scripts, frames or images.',
  },
  ERR_NOT_ENCRYPTED: {
    status: 403,
    fixedBy: 'caller',
    advice: 'Use the https URL in `detail`. If you sent a password or token, it was sent unencrypted: change it.',
  },
  ERR_FOREIGN_ORIGIN: {
    status: 403,
    fixedBy: 'caller',
    page: 'forbidden',
    advice:
      'Send the form from the solution’s own page. Behind a proxy, check `TRUSTED_PROXIES` and the headers that the proxy sets.',
  },
  ERR_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    advice: 'Fix the path; `/admin/api/openapi.json` lists the API’s paths.',
  },
  ERR_SOLUTION_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    maybeFixedByVersion: true,
    advice: 'Fix the name, or upload the solution. `GET /admin/api/solutions` lists all solutions.',
  },
  ERR_USER_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    advice: 'Fix the `uid`; `GET /admin/api/users` lists all users.',
  },
  ERR_VERSION_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    advice: 'Use a `sha256` from `versions` in the response to `GET /admin/api/solutions/{name}`.',
  },
  ERR_FILE_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    advice: 'Fix the path. A GET request for the draft or version lists its files.',
  },
  ERR_DRAFT_NOT_FOUND: {
    status: 404,
    fixedBy: 'caller',
    page: 'not-found',
    advice:
      'Use an `id` from the response to `GET /admin/api/solutions/{name}/drafts`. Drafts are deleted if nobody changes them for the time set by `DRAFT_KEPT`.',
  },
  ERR_METHOD_NOT_ALLOWED: {
    status: 405,
    fixedBy: 'caller',
    page: 'method',
    advice: 'Use a method listed in the `Allow` header.',
  },
  ERR_WORKBENCH_READ_ONLY: {
    status: 403,
    fixedBy: 'operator',
    advice:
      'If a control center manages the solution, change it there or in its repository. Otherwise, set `WORKBENCH=edit`.',
  },
  ERR_BODY_SLOW: {
    status: 408,
    fixedBy: 'caller',
    advice: 'Send the request again. If it fails again, send a smaller body or use a faster connection.',
  },
  ERR_NAME_DIFFERS: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Upload to the URL that ends with the manifest’s `name`, or change the name in `solution.json`.',
  },
  ERR_NAME_EXISTS: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Choose another name, or change the existing one with PATCH.',
  },
  ERR_LAST_OWNER: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Make another member an owner first.',
  },
  ERR_FILE_EXISTS: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Choose another name. To replace an existing login page, send `{"replace": true}`.',
  },
  ERR_VERSION_ACTIVE: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Activate another version first, or delete the solution.',
  },
  ERR_JOB_UNKNOWN: {
    status: 404,
    fixedBy: 'caller',
    advice: 'Check the name: `solhost jobs list` shows the jobs of the active version.',
  },
  ERR_RUN_DONE: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Start a new run of the job, and send its data again. When a run succeeds, its data is deleted.',
  },
  ERR_JOBS_WAITING: {
    status: 503,
    fixedBy: 'operator',
    advice: 'Make the solution’s jobs faster, queue fewer runs, or raise `JOBS_WAITING`.',
  },
  ERR_VERSION_IN_USE: {
    status: 409,
    fixedBy: 'caller',
    advice: 'The message shows where the version is in use. Stop using it there first.',
  },
  ERR_SOLUTION_EXISTS: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Choose another name, or create the draft from the active version.',
  },
  ERR_TOO_MANY_DRAFTS: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Publish or discard a draft, or ask the operator to raise `DRAFTS`.',
  },
  ERR_RUN_GOING_ON: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Wait for the current run, or cancel it.',
  },
  ERR_RUN_ENDED: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Start another run: this one has ended.',
  },
  ERR_ROLLOUT_RUNNING: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Continue, cancel or roll back the rollout in progress; the message names the environment.',
  },
  ERR_CHANGED_MEANWHILE: {
    status: 409,
    fixedBy: 'caller',
    advice: 'Someone else changed this resource first. Read it again, then resend your change.',
  },
  ERR_LINK_OVER: {
    status: 410,
    fixedBy: 'caller',
    page: 'link-over',
    advice: 'Request a new link on the sign-in page, or ask the person who sent you the link for a new one.',
  },
  ERR_BODY_TOO_LARGE: {
    status: 413,
    fixedBy: 'caller',
    page: 'too-large',
    advice: 'Send less data, or ask the operator to raise the limit; `detail` contains the limit.',
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
    advice: 'Send the `Content-Type` named in `detail`, or send the body uncompressed if `detail` requires it.',
  },
  ERR_HOST_UNKNOWN: {
    status: 421,
    fixedBy: 'caller',
    page: 'unknown-host',
    advice:
      'Use one of the host’s own names, or add this name to `ALLOWED_HOSTS`. The host also accepts the names in `PUBLIC_URL` and `SOLUTION_ORIGIN`.',
  },
  ERR_BUNDLE_REFUSED: {
    status: 422,
    fixedBy: 'solution',
    advice: 'Fix the errors that the response lists; `solhost check` shows them with line numbers.',
  },
  ERR_REQUEST_INVALID: {
    status: 422,
    fixedBy: 'caller',
    advice: 'Fix the value that `detail` names.',
  },
  ERR_IF_MATCH_MISSING: {
    status: 428,
    fixedBy: 'caller',
    advice:
      'Send `If-Match` with the `etag` of the file that you read, or `If-None-Match: *` for a file that does not exist yet.',
  },
  ERR_THROTTLED: {
    status: 429,
    fixedBy: 'caller',
    page: 'throttled',
    advice: 'Retry after the time in `Retry-After`.',
  },
  ERR_HEADERS_TOO_LARGE: {
    status: 431,
    fixedBy: 'caller',
    advice: 'Send fewer or shorter headers; `detail` contains the limit. In a browser, delete that site’s cookies.',
  },
  ERR_INTERNAL: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Look up `correlationId` in the platform’s log, and report the error that you find there.',
  },
  ERR_UPGRADE_REQUIRED: {
    status: 426,
    fixedBy: 'caller',
    advice:
      'Connect with a WebSocket client. If a browser gets this error, configure the proxy to forward the `Upgrade` and `Connection` headers.',
  },
  ERR_MODE_UNAVAILABLE: {
    status: 503,
    fixedBy: 'operator',
    page: 'mode-unavailable',
    isExpected: true,
    maybeFixedByVersion: true,
    advice:
      'Connect the Satellite to its control center: set `ENVIRONMENT=onprem`, `CLOUD_URL` and `REMOTE_ENVIRONMENT_TOKEN`. Or choose another `authenticator` in `solution.json`.',
  },
  ERR_OUTBOUND_INVALID: {
    status: 500,
    fixedBy: 'solution',
    advice: 'Fix the URL or headers in the script or the settings.',
  },
  ERR_OUTBOUND_PRIVATE: {
    status: 502,
    fixedBy: 'operator',
    advice:
      'To allow the host, add it to `HTTP_ALLOWED_HOSTS` (for scripts), `OAUTH_ALLOWED_HOSTS` (for OAuth providers) or the control center’s `REGISTRY_ALLOWED_HOSTS` (for registries).',
  },
  ERR_OUTBOUND_FAILED: {
    status: 502,
    fixedBy: 'operator',
    advice: 'Check that the other server is running, its name resolves and its certificate is valid.',
  },
  ERR_OUTBOUND_SIZE: {
    status: 502,
    fixedBy: 'operator',
    advice: 'Request less data, or raise the limit: `FETCH_SIZE` for scripts, `OAUTH_SIZE` for OAuth providers.',
  },
  ERR_OUTBOUND_TIME: {
    status: 504,
    fixedBy: 'operator',
    advice:
      'Find out why the other server is slow, or raise the limit: `FETCH_TIME` for scripts, `OAUTH_TIME` for OAuth providers.',
  },
  ERR_SANDBOX_BUSY: {
    status: 503,
    fixedBy: 'operator',
    page: 'busy',
    maybeFixedByVersion: true,
    advice:
      'Retry after the time in `Retry-After`. If it keeps happening, give the host more CPU cores or memory (`RUNTIME_XMX`).',
  },
  ERR_MEMORY_FULL: {
    status: 503,
    fixedBy: 'operator',
    page: 'busy',
    advice:
      'Retry after the time in `Retry-After`. If it keeps happening, raise `RUNTIME_XMX` or the container’s memory limit: [operating.md](../operating.md#memory).',
  },
  ERR_PASSWORDS_BUSY: {
    status: 503,
    fixedBy: 'operator',
    page: 'busy',
    advice:
      'Retry after the time in `Retry-After`. If it keeps happening, someone may be guessing passwords: check the audit log.',
  },
  ERR_SECRET_MISSING: {
    status: 503,
    fixedBy: 'operator',
    advice:
      'Set the secret that the solution’s log names: send PUT `/admin/api/solutions/{name}/secrets/{secret}` with an empty list of hosts.',
  },
  ERR_MAIL_UNAVAILABLE: {
    status: 503,
    fixedBy: 'operator',
    advice:
      'Set `SMTP_URL` and `MAIL_FROM`. On a host, also set `PUBLIC_URL` or `SOLUTION_ORIGIN`. If these are set, the log shows why the mail server rejects emails.',
  },
  ERR_STORAGE_FULL: {
    status: 507,
    fixedBy: 'caller',
    isShown: true,
    advice: 'Delete artifacts or versions you don’t need, or ask the operator to raise `ORGANISATION_STORAGE`.',
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
      'Retry after the time in `Retry-After`; hosts do so automatically. If it keeps happening, check the control center’s log and disk.',
  },
  ERR_DATABASE_UNREACHABLE: {
    status: 503,
    fixedBy: 'operator',
    page: 'database',
    advice: 'Start the database server, or fix the connection to it. The host then recovers automatically.',
  },
  ERR_CLOUD_UNREACHABLE: {
    status: 503,
    fixedBy: 'operator',
    advice:
      'Check that the control center is running and `CLOUD_URL` is reachable. The host then recovers automatically: [platform-cloud.md](../platform-cloud.md).',
  },
  ERR_CLOUD_REFUSED: {
    status: 503,
    fixedBy: 'operator',
    advice:
      'Read the solution’s log, which shows whether the token, the solution or the URL is wrong: [platform-cloud.md](../platform-cloud.md).',
  },
  ERR_DIRECTORY_UNREACHABLE: {
    status: 503,
    fixedBy: 'operator',
    page: 'directory',
    advice:
      'Check that the directory server is running and reachable, and that its certificate is valid. `POST directories/{name}/test` shows which step fails. When the server responds again, the host recovers automatically: [directories.md](../directories.md).',
  },
  ERR_DIRECTORY_REFUSED: {
    status: 503,
    fixedBy: 'operator',
    page: 'directory',
    advice:
      'Check the bind account’s name and password, the search base and the search filter. `POST directories/{name}/test` shows which step fails: [directories.md](../directories.md).',
  },
  ERR_MAINTENANCE: {
    status: 503,
    fixedBy: 'operator',
    page: 'maintenance',
    isExpected: true,
    advice: 'Wait until maintenance ends, or end it: PUT `/admin/api/maintenance` with `{"on": false}`.',
  },
  ERR_STOPPING: {
    status: 503,
    fixedBy: 'operator',
    page: 'stopping',
    advice: 'Try again in a moment: the host is stopping or restarting.',
  },
  ERR_BUILDER_FAILED: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Read the run’s log, which contains the builder’s error. Check that `BUILDER_COMMAND` can be run.',
  },
  ERR_REGISTRY_LOGIN: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Check the registry’s password, token or access keys on the Credentials page, and check that they allow pushing.',
  },
  ERR_PLATFORM_KEY: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Set `PLATFORM_KEY` to the key that the database was created with. All hosts that share a database need the same key.',
  },
  ERR_PLUGIN_INVALID: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Fix or remove the folder in `PLATFORM_HOME/plugins` that the message names.',
  },
  ERR_SETTINGS_INVALID: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Fix the invalid settings. The message lists them, one per line.',
  },
  ERR_CERTIFICATE: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Fix, replace or convert the certificate file as the message describes: [TLS](../tls.md#certificate-files-that-the-host-rejects).',
  },
  ERR_DATABASE_FILE: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Restore a backup: [backup.md](../backup.md#restore). To start without the data, move the file to another folder.',
  },
  ERR_DATABASE_VERSION: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Start a version that is at least as new as the database or the backup, or restore a backup from before the upgrade.',
  },
  ERR_PLATFORM_IN_USE: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Before a restore, stop the hosts that use the folder or database. Before you start a host, wait for the restore to finish. If the restore was interrupted, run it again. Start each control center with its own `PLATFORM_HOME`.',
  },
  ERR_BACKUP_INVALID: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'The file is not a backup, or it is truncated or modified. Nothing was restored. Use a different backup file.',
  },
  ERR_BACKUP_FAILED: {
    status: 500,
    fixedBy: 'operator',
    advice: 'Fix the problem with the file or database that the message names, then back up again.',
  },
  ERR_RESTORE_NOT_EMPTY: {
    status: 500,
    fixedBy: 'operator',
    advice:
      'Set `PLATFORM_HOME` to an empty folder and `PLATFORM_DATABASE_NAME` to an empty database, or use `--replace` to replace the existing data.',
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

/** Whether the request was invalid, so that its sender may see the message. */
export function isRefusal(error: unknown): error is PlatformError {
  return error instanceof PlatformError && statusOf(error) < 500
}
