/** The codes that the runtime throws. `base/http/errors.ts` adds those of the services, and has what each means in HTTP. */
export interface ErrorCodes {
  ERR_BUNDLE_REFUSED: unknown
  ERR_MEMORY_FULL: unknown
}

export type ErrorCode = keyof ErrorCodes

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
}
