import { parseStrictJson } from '../../runtime/bundle/strict-json.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Call, command, type Json, type Plugin, type SolutionFacts } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'

/** A job's run that a script queues. */
export type QueuedRun = {
  readonly id: string
  readonly job: string
  /** The run's data as JSON; null if there is none. */
  readonly data: string | null
  /** The earliest start: `after` in ms from now, or `at` in epoch ms. If both are null, now. */
  readonly after: number | null
  readonly at: number | null
  readonly key: string | null
  /** The run's tenant; null for the tenant of the call. */
  readonly tenant: readonly (string | number)[] | null
}

/** The host services behind the binding `plugins.jobs`. */
export interface JobsPorts {
  names(solution: SolutionFacts): readonly string[]
  /** Adds the run once the call has succeeded. */
  enqueue(call: Call, run: QueuedRun): void
}

/** How far in the future a run may be, in ms. */
export const LATEST = 366 * 86_400_000
export const LONGEST_KEY = 200

const Tenant = z
  .array(z.union([z.string().max(200), z.number()]))
  .min(1)
  .max(100)

export default function jobs(ports: JobsPorts, limits: Limits): Plugin {
  const Data = z
    .string()
    .refine((text) => Buffer.byteLength(text) <= limits.JOB_DATA, { error: 'the data is larger than JOB_DATA allows' })
    .refine((text) => !('error' in parseStrictJson(text)), { error: 'the data is nested too deeply' })
  const Run = z.strictObject({
    id: z.uuid(),
    job: z.string().min(1).max(64),
    data: Data.nullable(),
    after: z.number().min(0).max(LATEST).nullable(),
    at: z.number().min(0).nullable(),
    key: z.string().min(1).max(LONGEST_KEY).nullable(),
    tenant: Tenant.nullable(),
  })
  return {
    name: 'jobs',
    under: 'plugins',
    onlyIfNamed: true,
    guest: new URL('./guest.ts', import.meta.url),
    commands: {
      enqueue: command(z.tuple([Run]), (call, [run]) => {
        // The binding throws in these cases, so only a guest that bypassed it gets here.
        if (!ports.names(call.solution).includes(run.job) || (run.tenant !== null && call.kind !== 'job')) return
        ports.enqueue(call, run)
      }),
    },
    settings: (solution): Json => ports.names(solution),
    // Only a job may set the tenant of a run.
    state: (call): Json => call.kind === 'job',
  }
}
