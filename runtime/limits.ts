/**
 * All limits of the platform. The key is the property that sets the limit, and the default has the property's format.
 * The settings (`host/config`), the docs and the code that enforces the limits all read this table.
 *
 * Formats: a time ends with `ms`, `s`, `m`, `h` or `d`. A size ends with `k`, `m` or `g` (multiples of 1024
 * bytes). A count has no unit.
 */
export const LIMITS = {
  LOAD_TIME: { kind: 'time', default: '1s', what: 'maximum time to run the top-level code of a solution’s scripts' },
  CALL_TIME: { kind: 'time', default: '2s', what: 'maximum time for one script call, including waiting' },
  AUTHENTICATOR_TIME: {
    kind: 'time',
    default: '5s',
    what: 'maximum time for one sign-in by an authenticator, including waiting',
  },
  REQUEST_TIME: { kind: 'time', default: '5s', what: 'maximum time for one endpoint call, including waiting' },
  UPLOAD_CHECK_TIME: {
    kind: 'time',
    default: '15s',
    what: 'maximum time to check all files of an upload in a sandbox process',
  },
  ISOLATE_MEMORY: { kind: 'size', default: '64m', what: 'maximum heap size of one isolate' },
  PROCESS_MEMORY: { kind: 'size', default: '384m', what: 'maximum resident memory of one sandbox process' },
  RESULT_SIZE: { kind: 'size', default: '64k', what: 'maximum size of the string that an entry function returns' },
  REQUEST_BODY: { kind: 'size', default: '1m', what: 'maximum body size of a request to an endpoint' },
  ANSWER_SIZE: { kind: 'size', default: '1m', what: 'maximum body size of an endpoint’s response' },
  REQUESTS_AT_ONCE: {
    kind: 'count',
    default: '16',
    what: 'maximum number of concurrent calls to one solution’s endpoints on one host. Further calls wait for up to 1 s',
  },
  REQUESTS_NETWORK: {
    kind: 'count',
    default: '600',
    what: 'maximum number of requests per minute from one network on one host. The limit counts requests to endpoints without authentication, and rejected requests to any endpoint',
  },
  JOB_TIME: { kind: 'time', default: '1m', what: 'maximum time for one job run, including waiting' },
  JOB_DATA: { kind: 'size', default: '64k', what: 'maximum size of one job run’s data, as JSON' },
  JOBS_WAITING: { kind: 'count', default: '10000', what: 'maximum number of queued job runs per solution' },
  JOBS_AT_ONCE: {
    kind: 'count',
    default: '2',
    what: 'maximum number of concurrent job runs per solution on one host. For all solutions together, the maximum is the number of CPU cores minus one, but at least one',
  },
  JOB_KEPT: { kind: 'time', default: '30d', what: 'how long the record of a job run is kept after the run ends' },
  JOB_RECORDS: {
    kind: 'count',
    default: '20000',
    what: 'maximum number of records of ended job runs per solution. If there are more, the host deletes those of the runs that ended first, even if they are newer than JOB_KEPT or JOB_KEY',
  },
  JOB_KEY: {
    kind: 'time',
    default: '1d',
    what: 'how long the host ignores new runs with the same key after a successful run',
  },
  CALL_REQUESTS: {
    kind: 'count',
    default: '2000',
    what: 'maximum number of commands and requests that one script call can send to the host',
  },
  ARGUMENT_SIZE: { kind: 'size', default: '256k', what: 'maximum size of the arguments of one command or request' },
  COMMANDS_SIZE: { kind: 'size', default: '512k', what: 'maximum total size of all commands in one script call' },
  CLIENT_COMMANDS_SIZE: {
    kind: 'size',
    default: '8m',
    what: 'maximum total size of all commands in one script call in a client, including table rows',
  },
  LOG_LINES: { kind: 'count', default: '200', what: 'maximum number of log lines that one call can write' },
  LOG_SIZE: { kind: 'size', default: '64k', what: 'maximum size of the log text that one call can write' },
  LISTENERS: { kind: 'count', default: '1000', what: 'maximum number of event listeners in one context' },
  PERMISSIONS: { kind: 'count', default: '1000', what: 'maximum number of permissions that one sign-in can grant' },
  PERMISSION_LENGTH: { kind: 'count', default: '200', what: 'maximum number of characters in one permission' },
  EVENT_ARGUMENTS: { kind: 'count', default: '1000', what: 'maximum number of arguments of one fired event' },
  EVENT_DEPTH: { kind: 'count', default: '16', what: 'maximum nesting depth of events that listeners fire' },
  BUNDLE_SIZE: { kind: 'size', default: '10m', what: 'maximum compressed size of a bundle' },
  BUNDLE_UNPACKED: { kind: 'size', default: '50m', what: 'maximum total size of a bundle’s files, uncompressed' },
  BUNDLE_FILES: { kind: 'count', default: '2000', what: 'maximum number of files in a bundle' },
  SCRIPT_SIZE: { kind: 'size', default: '1m', what: 'maximum size of one script' },
  SOURCES_SIZE: {
    kind: 'size',
    default: '8m',
    what: 'maximum total size of a bundle’s scripts, forms and translations, which are sent to a sandbox process together',
  },
  TEMPLATE_SIZE: { kind: 'size', default: '256k', what: 'maximum size of login.html' },
  DRAFTS: { kind: 'count', default: '10', what: 'maximum number of drafts per solution in the workbench' },
  DRAFT_KEPT: { kind: 'time', default: '30d', what: 'how long a draft is kept after its last change' },
  TRIES_AT_ONCE: {
    kind: 'count',
    default: '2',
    what: 'maximum number of drafts that can run scripts at the same time in the workbench on one host; other drafts wait',
  },
  FORM_BODY: { kind: 'size', default: '64k', what: 'maximum body size of a posted form' },
  FORM_FIELDS: { kind: 'count', default: '200', what: 'maximum number of fields in a posted form' },
  JSON_BODY: { kind: 'size', default: '1m', what: 'maximum size of a JSON request body sent to the API' },
  SESSION_IDLE: { kind: 'time', default: '30m', what: 'time without requests after which a session ends' },
  SESSION_LIFETIME: { kind: 'time', default: '12h', what: 'maximum lifetime of a session, even if it is in use' },
  SESSION_ENDED_KEPT: { kind: 'time', default: '1d', what: 'how long an ended session stays in the database' },
  CLIENT_GRACE: {
    kind: 'time',
    default: '60s',
    what: 'how long an open client waits for its browser to reconnect, for example during a reload',
  },
  CLIENTS: { kind: 'count', default: '1000', what: 'maximum number of open clients of one solution on one host' },
  CLIENTS_SESSION: {
    kind: 'count',
    default: '30',
    what: 'maximum number of open clients in one session, such as browser tabs',
  },
  CLIENTS_ADDRESS: {
    kind: 'count',
    default: '100',
    what: 'maximum number of open clients without a signed-in user, per solution and network address',
  },
  HTTP2_CONNECTIONS_ADDRESS: {
    kind: 'count',
    default: '512',
    what: 'maximum number of HTTP/2 connections from one network address that is not a trusted proxy',
  },
  SANDBOX_IDLE: { kind: 'time', default: '5m', what: 'time after which a sandbox process without calls is stopped' },
  LOG_KEPT: { kind: 'time', default: '30d', what: 'how long a line stays in a solution’s log' },
  LOG_KEPT_SIZE: { kind: 'size', default: '100m', what: 'maximum total size of one solution’s log' },
  DELETED_KEPT: { kind: 'time', default: '7d', what: 'how long the data of a deleted solution is kept' },
  REMEMBER_LIFETIME: {
    kind: 'time',
    default: '7d',
    what: 'time after which a remembered login expires, even if it is in use',
  },
  REMEMBER_GRACE: {
    kind: 'time',
    default: '10s',
    what: 'how long the previous cookie of a remembered login is accepted after each use. Without this time, two tabs that send the cookie at the same time would look like cookie theft',
  },
  LOGIN_TOKEN_LIFETIME: {
    kind: 'time',
    default: '5m',
    what: 'lifetime of a login token, unless the request sets another one',
  },
  KNOWN_BROWSER: { kind: 'time', default: '90d', what: 'how long a browser is recognized after a sign-in' },
  THROTTLE_WINDOW: { kind: 'time', default: '15m', what: 'time window in which sign-in attempts are counted' },
  THROTTLE_ACCOUNT_NETWORK: {
    kind: 'count',
    default: '5',
    what: 'maximum number of sign-in attempts per account and network in THROTTLE_WINDOW',
  },
  THROTTLE_ACCOUNT: {
    kind: 'count',
    default: '20',
    what: 'maximum number of sign-in attempts per account in THROTTLE_WINDOW',
  },
  THROTTLE_NETWORK: {
    kind: 'count',
    default: '200',
    what: 'maximum number of sign-in attempts per network in THROTTLE_WINDOW',
  },
  SECOND_STEP_TIME: { kind: 'time', default: '10m', what: 'how long a sign-in waits for its second step' },
  SECOND_STEP_TRIES: { kind: 'count', default: '5', what: 'maximum number of wrong codes in one sign-in' },
  THROTTLE_FACTOR: {
    kind: 'count',
    default: '10',
    what: 'maximum number of wrong codes per account in THROTTLE_WINDOW, from all networks',
  },
  FACTOR_LOCK: {
    kind: 'count',
    default: '50',
    what: 'number of consecutive wrong codes after which the account’s authenticator app is locked',
  },
  CONFIRMED_FOR: {
    kind: 'time',
    default: '5m',
    what: 'how long after confirming their identity users can change a password or second factor, or run an action that a script protects',
  },
  PASSKEYS_ACCOUNT: { kind: 'count', default: '10', what: 'maximum number of passkeys per account' },
  DIRECTORY_CHECK: {
    kind: 'time',
    default: '15m',
    what: 'how often the host looks up signed-in users in their directory',
  },
  PASSWORD_LENGTH: { kind: 'count', default: '8', what: 'minimum length of passwords in the users table' },
  AUDIT_KEPT: { kind: 'time', default: '365d', what: 'how long an entry stays in the audit log' },
  TELEMETRY_QUEUE: {
    kind: 'size',
    default: '64m',
    what: 'maximum size of the telemetry queue in PLATFORM_HOME, which is used while the collector is unreachable. Metrics, logs and traces can each use one third of it',
  },
  QUERY_ROWS: { kind: 'count', default: '10000', what: 'maximum number of rows returned by one database query' },
  QUERY_SIZE: { kind: 'size', default: '1m', what: 'maximum size of the result of one database query, as JSON' },
  QUERY_TIME: { kind: 'time', default: '2s', what: 'maximum time for one database query' },
  EMBEDDED_SIZE: { kind: 'size', default: '100m', what: 'maximum file size of a solution’s embedded database' },
  FETCH_SIZE: { kind: 'size', default: '1m', what: 'maximum body size of one response to plugins.http.fetch' },
  FETCH_TIME: {
    kind: 'time',
    default: '2s',
    what: 'maximum time for one plugins.http.fetch call, from DNS lookup to the last byte',
  },
  FETCH_AT_ONCE: {
    kind: 'count',
    default: '16',
    what: 'maximum number of concurrent plugins.http.fetch calls per solution; further calls wait',
  },
  OAUTH_TRANSACTION: {
    kind: 'time',
    default: '30m',
    what: 'maximum time for a sign-in at a provider, from its start to the callback',
  },
  OAUTH_TIME: {
    kind: 'time',
    default: '5s',
    what: 'maximum time for one request to a provider, from DNS lookup to the last byte',
  },
  OAUTH_SIZE: { kind: 'size', default: '256k', what: 'maximum size of one response from a provider' },
  OAUTH_CLOCK_SKEW: {
    kind: 'time',
    default: '1m',
    what: 'maximum difference between the provider’s clock and the host’s clock',
  },
  OAUTH_OPEN_NETWORK: {
    kind: 'count',
    default: '200',
    what: 'maximum number of provider sign-ins in progress, per network and solution; if there are more, the host cancels the oldest',
  },
  ADMIN_FAILURES: {
    kind: 'count',
    default: '10',
    what: 'maximum number of failed admin sign-ins per network in 15 minutes',
  },
} as const satisfies Record<string, LimitEntry>

export type LimitEntry = {
  readonly kind: 'time' | 'size' | 'count'
  readonly default: string
  readonly what: string
}

export type LimitName = keyof typeof LIMITS

/** The current limits as numbers: milliseconds, bytes or a count. */
export type Limits = Readonly<Record<LimitName, number>>

const UNITS = {
  time: { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 },
  size: { k: 1024, m: 1024 ** 2, g: 1024 ** 3 },
  count: { '': 1 },
} as const

/** Reads `250ms`, `5s`, `64m` or `2000`. @returns null if the text does not have the kind's format. */
export function parseQuantity(kind: LimitEntry['kind'], text: string): number | null {
  const match = /^(\d{1,12})([a-z]{0,2})$/.exec(text.trim().toLowerCase())
  const factor = match && (UNITS[kind] as Record<string, number>)[match[2] ?? '']
  return match && factor !== undefined && factor !== null ? Number(match[1]) * factor : null
}

/** Describes the format of a limit's value, for error messages. */
export function quantityForm(kind: LimitEntry['kind']): string {
  const units = Object.keys(UNITS[kind]).filter((unit) => unit !== '')
  return units.length === 0 ? 'a whole number' : `a whole number followed by a unit (${units.join(', ')})`
}

/** Returns the default limits, with `overrides` applied. Used by tests and the settings. */
export function createLimits(overrides: Partial<Record<LimitName, number>> = {}): Limits {
  const limits = {} as Record<LimitName, number>
  for (const name of Object.keys(LIMITS) as LimitName[]) {
    const entry = LIMITS[name]
    limits[name] = overrides[name] ?? (parseQuantity(entry.kind, entry.default) as number)
  }
  return limits
}
