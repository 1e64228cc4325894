import { z } from '../../runtime/zod.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** A line of a solution's log in the API. */
export const LogLineSchema = z
  .object({
    time: z.int(),
    level: z.enum(LOG_LEVELS),
    message: z.string(),
    code: z.string().optional(),
    file: z.string().optional(),
    line: z.int().optional(),
    column: z.int().optional(),
    correlationId: z.string().optional(),
  })
  .meta({ id: 'LogLine' })
