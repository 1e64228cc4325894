import { PlatformError } from './errors.ts'

/** Why new work is refused, as a message for the solution's author. */
export const MEMORY_FULL = 'the host has used all its memory (RUNTIME_XMX); try again later'

/** The value of `Retry-After`, in seconds. Running calls have probably ended by then. */
const RETRY_AFTER = 5

const WHY = 'This host has used all its memory, and there are no idle processes left to stop.'

/**
 * Why new work is refused, as a message for the caller. An upload remains valid: the caller can retry it, and no error
 * is reported for the bundle.
 */
export function memoryFull(): PlatformError {
  return new PlatformError(
    'ERR_MEMORY_FULL',
    `${WHY} Try again in ${RETRY_AFTER} seconds; if the problem persists, raise RUNTIME_XMX or the container’s memory limit.`,
    { retryAfter: RETRY_AFTER },
  )
}

/** The message for the operator about an upload at startup, because only the operator can retry it. */
export function whyNotAtStart({ code, message }: PlatformError): string {
  return code === 'ERR_MEMORY_FULL'
    ? `${WHY} Raise RUNTIME_XMX or the container’s memory limit, and start the host again.`
    : message
}
