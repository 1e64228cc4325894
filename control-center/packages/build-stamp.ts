import { z } from '../../runtime/zod.ts'

const Line = z
  .string()
  .trim()
  .min(1)
  .regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must be one line')

/**
 * What whoever starts a pipeline run says of the build: it goes into the image beside the bundle, whose bytes, and so whose
 * SHA-256, stay as they are.
 */
export const BuildStamp = z.strictObject({
  commit: z
    .string()
    .regex(/^[0-9a-f]{7,64}$/, 'must be 7 to 64 lower-case hexadecimal digits')
    .optional(),
  branch: Line.max(200).optional(),
  /** Of the build, as its system counts or names it. */
  number: Line.max(100).optional(),
  date: z.iso.datetime({ offset: true, error: 'must be a date and time such as 2026-11-22T10:00:00Z' }).max(40),
})
export type BuildStamp = z.infer<typeof BuildStamp>

/** The same as it is asked for: without a date it is that of the run. */
export const GivenStamp = BuildStamp.partial({ date: true })
export type GivenStamp = z.infer<typeof GivenStamp>

/** Reads what the database holds. */
export function readStamp(text: string | null): BuildStamp | null {
  return text === null ? null : (BuildStamp.safeParse(JSON.parse(text)).data ?? null)
}
