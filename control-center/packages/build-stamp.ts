import { z } from '../../runtime/zod.ts'

const Line = z
  .string()
  .trim()
  .min(1)
  .regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must be one line')

/**
 * Build information supplied when a pipeline run starts. It is added to the image beside the bundle, whose bytes, and
 * so its SHA-256, stay unchanged.
 */
export const BuildStamp = z.strictObject({
  commit: z
    .string()
    .regex(/^[0-9a-f]{7,64}$/, 'must be 7 to 64 lower-case hexadecimal digits')
    .optional(),
  branch: Line.max(200).optional(),
  /** The build number or name, as the build system assigns it. */
  number: Line.max(100).optional(),
  date: z.iso.datetime({ offset: true, error: 'must be a date and time such as 2026-11-22T10:00:00Z' }).max(40),
})
export type BuildStamp = z.infer<typeof BuildStamp>

/** The input form: without a date, the date of the run is used. */
export const GivenStamp = BuildStamp.partial({ date: true })
export type GivenStamp = z.infer<typeof GivenStamp>

/** Parses the JSON in the database. */
export function readStamp(text: string | null): BuildStamp | null {
  return text === null ? null : (BuildStamp.safeParse(JSON.parse(text)).data ?? null)
}
