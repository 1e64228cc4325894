import { PlatformError } from '../../runtime/errors.ts'

export function versionNotFound(name: string, sha256: string): PlatformError {
  return new PlatformError(
    'ERR_VERSION_NOT_FOUND',
    `The solution "${name}" has no version with the SHA-256 ${sha256}.`,
    {
      name,
      sha256,
    },
  )
}
