import { PlatformError } from '../../runtime/errors.ts'

/**
 * Whether the error means that the credentials were not checked: the control center or directory that checks them is
 * unreachable, or rejects the host's requests.
 */
export function isSourceAway(error: unknown): error is PlatformError {
  return error instanceof PlatformError && /^ERR_(?:CLOUD|DIRECTORY)_/.test(error.code)
}
