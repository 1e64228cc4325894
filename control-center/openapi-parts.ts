import { CODES } from '../runtime/errors.ts'
import { z } from '../runtime/zod.ts'

/** What both descriptions of APIs say of errors (RFC 9457). */
export const problemSchema = z.toJSONSchema(
  z.object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.enum(Object.keys(CODES)),
    detail: z.string().optional(),
    correlationId: z.string(),
    faults: z.array(z.looseObject({ message: z.string() })).optional(),
  }),
)

/** The parts of an address below an organisation. */
export const ORGANISATION = '/api/organisations/{organisation}'
