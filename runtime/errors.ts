/**
 * The codes that the runtime throws. `base/http/errors.ts` adds the services' codes, and maps each code to an HTTP
 * status.
 */
export interface ErrorCodes {
  ERR_BUNDLE_REFUSED: unknown
  ERR_MEMORY_FULL: unknown
}

export type ErrorCode = keyof ErrorCodes

/**
 * Additional data of a `PlatformError` for the response. It must not contain secrets: if the status is below 500, all
 * of it may be shown.
 */
export type ErrorDetails = Readonly<Record<string, unknown>>

/** The platform's only error class. Callers branch on `code`; the message is for people and may change. */
export class PlatformError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PlatformError'
    this.code = code
    this.details = details
  }
}
