/**
 * All of the platform's limits in one table: the key is the property that sets the limit, and the default is written in
 * the property's format. The settings (`host/config`), the docs and the code that enforces them all read this table.
 *
 * Units: time `ms|s|m|h|d`, size in bytes with `k|m|g` (1024), count without a unit.
 */
export const LIMITS = {
  LOAD_TIME: { kind: 'time', default: '1s', what: 'top-level code of a solution’s scripts, wall clock' },
  CALL_TIME: { kind: 'time', default: '2s', what: 'one script call, wall clock, including waiting' },
  AUTHENTICATOR_TIME: {
    kind: 'time',
    default: '5s',
    what: 'one login by an authenticator, wall clock, including waiting',
  },
  UPLOAD_CHECK_TIME: { kind: 'time', default: '15s', what: 'checking all files of an upload in its sandbox process' },
  ISOLATE_MEMORY: { kind: 'size', default: '64m', what: 'heap of one isolate' },
  PROCESS_MEMORY: { kind: 'size', default: '384m', what: 'resident size of one sandbox process' },
  RESULT_SIZE: { kind: 'size', default: '64k', what: 'the string returned by an entry function' },
  CALL_REQUESTS: { kind: 'count', default: '2000', what: 'commands and requests to the host in one call' },
  ARGUMENT_SIZE: { kind: 'size', default: '256k', what: 'the arguments of one command or request' },
  COMMANDS_SIZE: { kind: 'size', default: '512k', what: 'all commands of one call' },
  CLIENT_COMMANDS_SIZE: {
    kind: 'size',
    default: '8m',
    what: 'all commands of one call of a client, including table rows',
  },
  LOG_LINES: { kind: 'count', default: '200', what: 'log lines of one call' },
  LOG_SIZE: { kind: 'size', default: '64k', what: 'log text of one call' },
  LISTENERS: { kind: 'count', default: '1000', what: 'event listeners of one context' },
  PERMISSIONS: { kind: 'count', default: '1000', what: 'permissions of one login' },
  PERMISSION_LENGTH: { kind: 'count', default: '200', what: 'characters of one permission' },
  EVENT_ARGUMENTS: { kind: 'count', default: '1000', what: 'arguments of one fired event' },
  EVENT_DEPTH: { kind: 'count', default: '16', what: 'nesting depth of events fired in listeners' },
  BUNDLE_SIZE: { kind: 'size', default: '10m', what: 'a bundle, compressed' },
  BUNDLE_UNPACKED: { kind: 'size', default: '50m', what: 'all files of a bundle, uncompressed' },
  BUNDLE_FILES: { kind: 'count', default: '2000', what: 'files in a bundle' },
  SCRIPT_SIZE: { kind: 'size', default: '1m', what: 'one script' },
  SOURCES_SIZE: {
    kind: 'size',
    default: '8m',
    what: 'scripts, forms and translations of a bundle in total, which are sent to a sandbox process together',
  },
  TEMPLATE_SIZE: { kind: 'size', default: '256k', what: 'login.html' },
  FORM_BODY: { kind: 'size', default: '64k', what: 'the body of a posted form' },
  FORM_FIELDS: { kind: 'count', default: '200', what: 'fields of a posted form' },
  JSON_BODY: { kind: 'size', default: '1m', what: 'a JSON body sent to the API' },
  SESSION_IDLE: { kind: 'time', default: '30m', what: 'a session without requests' },
  SESSION_LIFETIME: { kind: 'time', default: '12h', what: 'a session, even when it is in use' },
  SESSION_ENDED_KEPT: { kind: 'time', default: '1d', what: 'an ended session in the database' },
  CLIENT_GRACE: {
    kind: 'time',
    default: '60s',
    what: 'an open client whose browser is disconnected, such as during a reload',
  },
  CLIENTS: { kind: 'count', default: '1000', what: 'open clients of one solution on one host' },
  CLIENTS_SESSION: { kind: 'count', default: '30', what: 'open clients of one session, such as its tabs' },
  CLIENTS_ADDRESS: {
    kind: 'count',
    default: '100',
    what: 'open clients without a signed-in user, per solution and network address',
  },
  HTTP2_CONNECTIONS_ADDRESS: {
    kind: 'count',
    default: '512',
    what: 'HTTP/2 connections from one network address, except trusted proxies',
  },
  SANDBOX_IDLE: { kind: 'time', default: '5m', what: 'a sandbox process without calls' },
  LOG_KEPT: { kind: 'time', default: '30d', what: 'a line in a solution’s log' },
  LOG_KEPT_SIZE: { kind: 'size', default: '100m', what: 'all lines of one solution’s log' },
  DELETED_KEPT: { kind: 'time', default: '7d', what: 'the data of a deleted solution' },
  REMEMBER_LIFETIME: { kind: 'time', default: '7d', what: 'a remembered login, even when it is in use' },
  REMEMBER_GRACE: {
    kind: 'time',
    default: '10s',
    what: 'the previous value of a remembered login after each use, so that two tabs don’t look like theft',
  },
  LOGIN_TOKEN_LIFETIME: {
    kind: 'time',
    default: '5m',
    what: 'a login token, unless the request sets another lifetime',
  },
  KNOWN_BROWSER: { kind: 'time', default: '90d', what: 'recognizing a browser that signed in before' },
  THROTTLE_WINDOW: { kind: 'time', default: '15m', what: 'time window in which sign-in attempts are counted' },
  THROTTLE_ACCOUNT_NETWORK: {
    kind: 'count',
    default: '5',
    what: 'sign-in attempts per account and network in THROTTLE_WINDOW',
  },
  THROTTLE_ACCOUNT: { kind: 'count', default: '20', what: 'sign-in attempts per account in THROTTLE_WINDOW' },
  THROTTLE_NETWORK: { kind: 'count', default: '200', what: 'sign-in attempts per network in THROTTLE_WINDOW' },
  SECOND_STEP_TIME: { kind: 'time', default: '10m', what: 'a sign-in that waits for its second step' },
  SECOND_STEP_TRIES: { kind: 'count', default: '5', what: 'wrong codes in one sign-in' },
  THROTTLE_FACTOR: {
    kind: 'count',
    default: '10',
    what: 'wrong codes per account in THROTTLE_WINDOW, from all networks',
  },
  FACTOR_LOCK: {
    kind: 'count',
    default: '50',
    what: 'wrong codes in a row, after which the account’s authenticator app is locked',
  },
  CONFIRMED_FOR: { kind: 'time', default: '5m', what: 'a confirmation before a password or factor can be changed' },
  PASSWORD_LENGTH: { kind: 'count', default: '8', what: 'minimum length of passwords in the users table' },
  AUDIT_KEPT: { kind: 'time', default: '365d', what: 'an entry in the audit log' },
  TELEMETRY_QUEUE: {
    kind: 'size',
    default: '64m',
    what: 'telemetry queued in PLATFORM_HOME while its collector is unreachable; a third each for metrics, logs and traces',
  },
  QUERY_ROWS: { kind: 'count', default: '10000', what: 'rows returned by one database query' },
  QUERY_SIZE: { kind: 'size', default: '1m', what: 'the result of one database query, as JSON' },
  QUERY_TIME: { kind: 'time', default: '2s', what: 'one database query' },
  EMBEDDED_SIZE: { kind: 'size', default: '100m', what: 'the file of a solution’s embedded database' },
  FETCH_SIZE: { kind: 'size', default: '1m', what: 'the body of one response to plugins.http.fetch' },
  FETCH_TIME: { kind: 'time', default: '2s', what: 'one plugins.http.fetch, from name lookup to the last byte' },
  FETCH_AT_ONCE: {
    kind: 'count',
    default: '16',
    what: 'concurrent plugins.http.fetch calls of one solution; further ones wait',
  },
  OAUTH_TRANSACTION: { kind: 'time', default: '30m', what: 'a sign-in at a provider, from its start to the callback' },
  OAUTH_TIME: { kind: 'time', default: '5s', what: 'one request to a provider, from name lookup to the last byte' },
  OAUTH_SIZE: { kind: 'size', default: '256k', what: 'one response from a provider' },
  OAUTH_CLOCK_SKEW: { kind: 'time', default: '1m', what: 'allowed difference between the clocks of provider and host' },
  OAUTH_OPEN_NETWORK: {
    kind: 'count',
    default: '200',
    what: 'sign-ins in progress at providers, per network and solution; the oldest end first',
  },
  ADMIN_FAILURES: { kind: 'count', default: '10', what: 'failed admin sign-ins per network in 15 minutes' },
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
  return units.length === 0 ? 'a whole number' : `a whole number with one of the units ${units.join(', ')}`
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
