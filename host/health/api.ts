import { SIGNALS } from '../../base/config/telemetry-settings.ts'
import { KIND_NAMES } from '../../base/database/kind.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { CLOUD_LOGIN_PROBLEMS } from '../cloud/login/problems.ts'
import { MOST_HOURS } from '../telemetry/figures.ts'
import type { Health as HealthReport } from './health-report.ts'

export type HealthApiParts = { readonly health: HealthReport }

const HealthQuery = z.strictObject({
  range: z
    .enum(['recent', 'day'])
    .default('recent')
    .describe('`recent`: 2 hours at a resolution of 10 s; `day`: a day at a resolution of 1 minute'),
  hours: z.coerce
    .number()
    .int()
    .min(1)
    .max(MOST_HOURS)
    .default(1)
    .describe('the number of hours that `entries` covers'),
})

const EpochMs = z.int().min(0)
const Calls = {
  count: z.int(),
  failed: z.int(),
  p50: z.number().nullable().describe('the median in ms, accurate to within 9%; null if there were no calls'),
  p95: z.number().nullable(),
  largest: z.number(),
}

const Health = z
  .object({
    now: EpochMs,
    startedAt: EpochMs,
    uptime: z.int().describe('ms'),
    version: z.string(),
    node: z.string(),
    database: z.object({
      kind: z.enum(KIND_NAMES),
      ok: z.boolean(),
      latency: z.number().nullable().describe('response time in ms; null if there was no response'),
    }),
    certificate: z
      .object({
        names: z.string(),
        validFrom: EpochMs,
        validTo: EpochMs,
        problem: z.enum(['expired', 'not-yet-valid', 'expires-soon']).nullable(),
        refused: z.string().nullable().describe('why the newest certificate file was rejected'),
      })
      .nullable()
      .describe('the certificate; null if the host does not serve TLS'),
    memory: z
      .object({
        host: z.int(),
        processes: z.int(),
        maximum: z
          .number()
          .describe('the effective limit: RUNTIME_XMX or the memory that the cgroup allows, whichever is lower'),
        configured: z.number().describe('RUNTIME_XMX'),
        groupLimit: z.number().nullable().describe('cgroup limit, for example the container’s; null if there is none'),
        used: z.number().describe('fraction of `maximum` that the host and its processes use'),
      })
      .describe('bytes'),
    telemetry: z
      .array(
        z.object({
          signal: z.enum(SIGNALS),
          state: z
            .enum(['ok', 'away', 'barred'])
            .describe('`away`: the collector is unreachable; `barred`: it rejects the URL or token'),
          correct: z.string().nullable().describe('the property to fix if the state is `barred`; otherwise null'),
          waiting: z.int().describe('bytes'),
          dropped: z.int().describe('number of data points, log records and spans dropped since the host started'),
          droppedAt: EpochMs.nullable().describe('when telemetry was last dropped; null if never'),
        }),
      )
      .describe('the signals that are sent to a collector; empty if none are sent'),
    clients: z.int().describe('number of open clients on this host'),
    processes: z.array(
      z.object({
        pid: z.int(),
        solution: z.string().nullable(),
        calls: z.int(),
        clients: z.int().nullable(),
        memory: z.int().describe('private memory in bytes'),
      }),
    ),
    quarantined: z.array(z.object({ solution: z.string(), retryAt: EpochMs })).nullable(),
    pausedJobs: z
      .array(z.string())
      .nullable()
      .describe(
        'solutions with schedules or unfinished runs whose jobs an administrator or a restore has paused; null if the database did not respond',
      ),
    cloudLogins: z
      .array(z.object({ solution: z.string(), problem: z.enum(CLOUD_LOGIN_PROBLEMS) }))
      .describe(
        'PLATFORM_CLOUD solutions whose sign-ins or login page had a problem when this host last contacted the control center',
      ),
    cloud: z
      .object({
        state: z
          .enum(['connecting', 'connected', 'away', 'barred'])
          .describe('`away`: the control center is unreachable; `barred`: it rejects the URL or token'),
        since: EpochMs,
        why: z.string().nullable().describe('why the last request failed, if `state` is `away`'),
        number: z
          .int()
          .nullable()
          .describe('the sequence number of the last desired state that the host tried to apply'),
        triedAt: EpochMs.nullable(),
        failed: z.array(z.object({ name: z.string(), message: z.string() })).describe('rejected versions'),
        refused: z.string().nullable().describe('why the last desired state was rejected; null if it was accepted'),
      })
      .nullable()
      .describe('the connection to the control center; null if none is configured'),
    series: z.object({
      range: z.enum(['recent', 'day']),
      step: z.int().describe('ms'),
      points: z
        .array(
          z.object({
            at: EpochMs,
            calls: z.object(Calls),
            gauges: z
              .object({ processes: z.int(), processMemory: z.int(), hostMemory: z.int(), clients: z.int() })
              .nullable(),
          }),
        )
        .describe('the time slots, oldest first and without gaps'),
    }),
    signIns: z
      .array(z.object({ at: EpochMs, outcome: z.string(), count: z.int() }))
      .nullable()
      .describe('sign-ins on all hosts; null if the database did not respond'),
    entries: z
      .array(z.object({ solution: z.string(), entry: z.string(), ...Calls }))
      .describe('entry functions and handlers, longest total time first'),
  })
  .meta({ id: 'Health' })

export function healthRoutes({ health }: HealthApiParts): AdminRoute[] {
  return [
    route(
      'GET /health',
      {
        summary: 'Get the state and recent activity of this host; also works while the database is unreachable',
        right: 'health:read',
        query: HealthQuery,
        answers: { 200: Health },
      },
      ({ query }) => health(query),
    ),
  ]
}
