import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'

/** @throws ERR_REQUEST_INVALID with a message that names the invalid property and the allowed values */
export function readWith<T>(schema: z.ZodType<T>, value: unknown): T {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  throw new PlatformError('ERR_REQUEST_INVALID', z.prettifyError(checked.error).slice(0, 2000))
}
