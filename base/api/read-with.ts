import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'

/** @throws ERR_REQUEST_INVALID with a message that names the invalid property and the allowed values */
export function readWith<T>(schema: z.ZodType<T>, value: unknown): T {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  const faults = checked.error.issues.map(({ path, message }) => {
    return path.length === 0 ? message : `${z.core.toDotPath(path)}: ${message}`
  })
  throw new PlatformError('ERR_REQUEST_INVALID', faults.join('; ').slice(0, 2000))
}
