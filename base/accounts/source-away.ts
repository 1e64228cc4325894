import { PlatformError } from '../../runtime/errors.ts'

/**
 * Whether the control center or the directory that checks credentials is unreachable, or rejects the host's requests.
 * In that case, no credentials were checked.
 */
export function isSourceAway(error: unknown): error is PlatformError {
  return error instanceof PlatformError && /^ERR_(?:CLOUD|DIRECTORY)_/.test(error.code)
}
