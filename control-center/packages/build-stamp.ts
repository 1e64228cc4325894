import { z } from '../../runtime/zod.ts'

const Line = z
  .string()
  .trim()
  .min(1)
  .regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must be one line')

/**
 * Build information that is supplied when a pipeline run starts. It is stored in the image next to the bundle, so the
 * bundle and its SHA-256 don't change.
 */
export const BuildStamp = z.strictObject({
  commit: z
    .string()
    .regex(/^[0-9a-f]{7,64}$/, 'must be 7 to 64 lowercase hexadecimal digits')
    .optional(),
  branch: Line.max(200).optional(),
  /** The build number or name that the build system assigned. */
  number: Line.max(100).optional(),
  date: z.iso.datetime({ offset: true, error: 'must be a date and time such as 2026-11-22T10:00:00Z' }).max(40),
})
export type BuildStamp = z.infer<typeof BuildStamp>

/** Build information as the caller supplies it. If the date is missing, the date of the run is used. */
export const GivenStamp = BuildStamp.partial({ date: true })
export type GivenStamp = z.infer<typeof GivenStamp>

/** Parses the JSON from the database. */
export function readStamp(text: string | null): BuildStamp | null {
  return text === null ? null : (BuildStamp.safeParse(JSON.parse(text)).data ?? null)
}
