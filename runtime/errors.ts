/** Who can put an error right: the one who sent the request, the solution's author, or the operator. */
export type FixedBy = 'caller' | 'solution' | 'operator'

/**
 * Every stable code of the host's own errors: the HTTP status it becomes, and who can put it right.
 * Outcomes of scripts (`script_error`, `script_timeout`, …) are a vocabulary of their own: see `outcome.ts`.
 */
export const CODES = {
  ERR_BAD_REQUEST: { status: 400, fixedBy: 'caller' },
  ERR_UNAUTHENTICATED: { status: 401, fixedBy: 'caller' },
  ERR_BROWSER_CREDENTIALS: { status: 403, fixedBy: 'caller' },
  ERR_FORBIDDEN: { status: 403, fixedBy: 'caller' },
  ERR_NOT_A_NAVIGATION: { status: 403, fixedBy: 'caller' },
  ERR_NOT_ENCRYPTED: { status: 403, fixedBy: 'caller' },
  ERR_FOREIGN_ORIGIN: { status: 403, fixedBy: 'caller' },
  ERR_NOT_FOUND: { status: 404, fixedBy: 'caller' },
  ERR_SOLUTION_NOT_FOUND: { status: 404, fixedBy: 'caller' },
  ERR_USER_NOT_FOUND: { status: 404, fixedBy: 'caller' },
  ERR_VERSION_NOT_FOUND: { status: 404, fixedBy: 'caller' },
  ERR_METHOD_NOT_ALLOWED: { status: 405, fixedBy: 'caller' },
  ERR_BODY_SLOW: { status: 408, fixedBy: 'caller' },
  ERR_NAME_DIFFERS: { status: 409, fixedBy: 'caller' },
  ERR_NAME_EXISTS: { status: 409, fixedBy: 'caller' },
  ERR_LAST_OWNER: { status: 409, fixedBy: 'caller' },
  ERR_FILE_EXISTS: { status: 409, fixedBy: 'caller' },
  ERR_VERSION_ACTIVE: { status: 409, fixedBy: 'caller' },
  ERR_VERSION_IN_USE: { status: 409, fixedBy: 'caller' },
  ERR_RUN_GOING_ON: { status: 409, fixedBy: 'caller' },
  ERR_RUN_ENDED: { status: 409, fixedBy: 'caller' },
  ERR_ROLLOUT_RUNNING: { status: 409, fixedBy: 'caller' },
  ERR_CHANGED_MEANWHILE: { status: 409, fixedBy: 'caller' },
  ERR_BODY_TOO_LARGE: { status: 413, fixedBy: 'caller' },
  ERR_TOO_MANY_FIELDS: { status: 413, fixedBy: 'caller' },
  ERR_BUNDLE_TOO_LARGE: { status: 413, fixedBy: 'caller' },
  ERR_CONTENT_TYPE: { status: 415, fixedBy: 'caller' },
  ERR_HOST_UNKNOWN: { status: 421, fixedBy: 'caller' },
  ERR_BUNDLE_REFUSED: { status: 422, fixedBy: 'solution' },
  ERR_REQUEST_INVALID: { status: 422, fixedBy: 'caller' },
  ERR_THROTTLED: { status: 429, fixedBy: 'caller' },
  ERR_HEADERS_TOO_LARGE: { status: 431, fixedBy: 'caller' },
  ERR_INTERNAL: { status: 500, fixedBy: 'operator' },
  ERR_UPGRADE_REQUIRED: { status: 426, fixedBy: 'caller' },
  ERR_MODE_UNAVAILABLE: { status: 503, fixedBy: 'operator' },
  ERR_SOLUTION_BROKEN: { status: 503, fixedBy: 'solution' },
  ERR_OUTBOUND_INVALID: { status: 500, fixedBy: 'solution' },
  ERR_OUTBOUND_PRIVATE: { status: 502, fixedBy: 'operator' },
  ERR_OUTBOUND_FAILED: { status: 502, fixedBy: 'operator' },
  ERR_OUTBOUND_SIZE: { status: 502, fixedBy: 'operator' },
  ERR_OUTBOUND_TIME: { status: 504, fixedBy: 'operator' },
  ERR_SANDBOX_BUSY: { status: 503, fixedBy: 'operator' },
  ERR_MEMORY_FULL: { status: 503, fixedBy: 'operator' },
  ERR_PASSWORDS_BUSY: { status: 503, fixedBy: 'operator' },
  ERR_MAIL_UNAVAILABLE: { status: 503, fixedBy: 'operator' },
  ERR_STORAGE_FULL: { status: 507, fixedBy: 'caller' },
  ERR_DISK_FULL: { status: 507, fixedBy: 'operator' },
  ERR_TELEMETRY_BUSY: { status: 503, fixedBy: 'operator' },
  ERR_DATABASE_UNREACHABLE: { status: 503, fixedBy: 'operator' },
  ERR_CLOUD_UNREACHABLE: { status: 503, fixedBy: 'operator' },
  ERR_CLOUD_REFUSED: { status: 503, fixedBy: 'operator' },
  ERR_MAINTENANCE: { status: 503, fixedBy: 'operator' },
  ERR_STOPPING: { status: 503, fixedBy: 'operator' },
  ERR_BUILDER_FAILED: { status: 500, fixedBy: 'operator' },
  ERR_REGISTRY_LOGIN: { status: 500, fixedBy: 'operator' },
  ERR_PLATFORM_KEY: { status: 500, fixedBy: 'operator' },
  ERR_PLUGIN_INVALID: { status: 500, fixedBy: 'operator' },
  ERR_SETTINGS_INVALID: { status: 500, fixedBy: 'operator' },
  ERR_CERTIFICATE: { status: 500, fixedBy: 'operator' },
  ERR_DATABASE_FILE: { status: 500, fixedBy: 'operator' },
  ERR_DATABASE_VERSION: { status: 500, fixedBy: 'operator' },
  ERR_PLATFORM_IN_USE: { status: 500, fixedBy: 'operator' },
  ERR_BACKUP_INVALID: { status: 500, fixedBy: 'operator' },
  ERR_BACKUP_FAILED: { status: 500, fixedBy: 'operator' },
  ERR_RESTORE_NOT_EMPTY: { status: 500, fixedBy: 'operator' },
} as const satisfies Record<string, { status: number; fixedBy: FixedBy }>

export type ErrorCode = keyof typeof CODES

/** What a `PlatformError` may carry for the answer: never a secret, since below status 500 all of it may be shown. */
export type ErrorDetails = Readonly<Record<string, unknown>>

/** The one error class of the platform. Callers branch on `code`; the message is for people and may change. */
export class PlatformError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PlatformError'
    this.code = code
    this.details = details
  }

  get status(): number {
    return CODES[this.code].status
  }
}
