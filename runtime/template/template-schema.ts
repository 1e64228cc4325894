import { z } from '../zod.ts'
import { type CompiledTemplate, isWithinBounds, MAX_PARTS, MAX_TEXT } from './compiled-template.ts'

// This schema is in a separate file that only the host imports, so that sandbox processes don't load the schema
// library.

const Text = z.string().max(MAX_TEXT)
const Name = z.string().min(1).max(262_144)
const Index = z.int().min(0).max(MAX_PARTS)
const LookupSchema = z.strictObject({ from: z.enum(['i18n', 'json']), name: Name.regex(/^[A-Za-z0-9_.-]+$/) })
const Pieces = z.array(z.union([Text, LookupSchema])).max(2 * MAX_PARTS)
const Field = z.string().regex(/^(?:username|custom_[A-Za-z0-9_.-]{1,64})$/)

const PartSchema = z.union([
  Text,
  z.discriminatedUnion('at', [
    z.strictObject({ at: z.enum(['text', 'script']), lookup: LookupSchema }),
    z.strictObject({ at: z.literal('address'), pieces: Pieces, ownOrigin: z.boolean() }),
    z.strictObject({ at: z.enum(['nonce', 'token', 'failed', 'notice']) }),
    z.strictObject({ at: z.literal('keptValue'), field: Field, otherwise: Pieces.nullable() }),
    z.strictObject({ at: z.literal('keptText'), field: Field, otherwise: Pieces }),
    z.strictObject({ at: z.literal('checked'), field: Field, value: Pieces, otherwise: z.boolean() }),
    z.strictObject({ at: z.literal('selected'), select: Index, option: Index, otherwise: z.boolean() }),
  ]),
])

const KeptSelectSchema = z.strictObject({
  field: Field,
  options: z.array(z.strictObject({ pieces: Pieces, collapse: z.boolean() })).max(MAX_PARTS),
})

/**
 * Validates a template from a sandbox process: it must have the right shape, and be small enough to store and to fill
 * in.
 */
export const CompiledTemplateSchema: z.ZodType<CompiledTemplate> = z
  .strictObject({
    parts: z.array(PartSchema).max(2 * MAX_PARTS + 1),
    selects: z.array(KeptSelectSchema).max(MAX_PARTS),
  })
  .refine(isWithinBounds, { error: `a template has at most ${MAX_PARTS} values and ${MAX_TEXT} characters` })
