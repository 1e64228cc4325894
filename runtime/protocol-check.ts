import * as z from 'zod'
import { FAULT_CODES, type FaultCode, WARNING_CODES, type WarningCode } from './bundle/faults.ts'
import { FAILURES, type Failure } from './outcome.ts'
import type { FromSandbox } from './protocol.ts'

// What a sandbox process says is checked in form and size: hostile code runs there.

const Position = z.strictObject({
  file: z.string().max(300),
  line: z.int().min(0).max(1e9),
  column: z.int().min(0).max(1e9),
})
const Message = z.string().max(10_000)
const Fault = z.object({
  file: z.string().max(300),
  line: z.int().optional(),
  column: z.int().optional(),
  code: z.enum(Object.keys(FAULT_CODES) as [FaultCode, ...FaultCode[]]),
  message: Message,
})
const Warning = z.object({
  file: z.string().max(300),
  line: z.int().optional(),
  column: z.int().optional(),
  code: z.enum(Object.keys(WARNING_CODES) as [WarningCode, ...WarningCode[]]),
  message: Message,
})
const Args = z.array(z.json()).max(100)
const Name = z.string().max(100)
const Id = z.int().min(0)
const Milliseconds = z.number().min(0)

const Outcome = z.discriminatedUnion('ok', [
  z.strictObject({
    ok: z.literal(true),
    result: z.string().nullable(),
    odd: z.string().max(100).optional(),
    commands: z.array(z.strictObject({ plugin: Name, method: Name, args: Args })).max(10_000),
    milliseconds: Milliseconds,
  }),
  z.strictObject({
    ok: z.literal(false),
    code: z.enum(Object.keys(FAILURES) as [Failure, ...Failure[]]),
    message: Message,
    position: Position.optional(),
    limit: z.strictObject({ name: Name, allowed: z.number(), used: z.number().optional() }).optional(),
    milliseconds: Milliseconds,
  }),
])

const Messages = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('ready') }),
  z.strictObject({ kind: z.literal('pong') }),
  z.strictObject({ kind: z.literal('loaded'), faults: z.array(Fault).max(10_000) }),
  z.strictObject({ kind: z.literal('started'), id: Id }),
  z.strictObject({ kind: z.literal('ended'), id: Id, outcome: Outcome }),
  z.strictObject({
    kind: z.literal('probed'),
    id: Id,
    faults: z.array(Fault).max(10),
    found: z.array(Name).max(10),
  }),
  z.strictObject({
    kind: z.literal('log'),
    id: Id,
    level: z.enum(['debug', 'info', 'warn', 'error']),
    message: Message,
    position: Position.optional(),
  }),
  z.strictObject({ kind: z.literal('request'), id: Id, request: Id, plugin: Name, method: Name, args: Args }),
  z.strictObject({
    kind: z.literal('checked'),
    checked: z.strictObject({
      faults: z.array(Fault).max(100_000),
      warnings: z.array(Warning).max(100_000),
      scripts: z.array(z.string()),
      formScripts: z.array(z.string()),
      i18n: z.array(z.record(z.string(), z.string())),
      template: z.unknown(),
    }),
  }),
])

/** @returns null when the text is not a message of the protocol: the process is no longer to be believed */
export function checkFromSandbox(text: string): FromSandbox | null {
  try {
    const checked = Messages.safeParse(JSON.parse(text))
    return checked.success ? (checked.data as FromSandbox) : null
  } catch {
    return null
  }
}
