import { SIGNALS } from '../../base/config/telemetry-settings.ts'
import { KIND_NAMES } from '../../base/database/kind.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { CLOUD_LOGIN_PROBLEMS } from '../cloud/login/problems.ts'
import { MOST_HOURS } from '../telemetry/figures.ts'
import type { Health as HealthReport } from './health-report.ts'

export type HealthApiParts = { readonly health: HealthReport }

const HealthQuery = z.strictObject({
  range: z.enum(['recent', 'day']).default('recent').describe('2 hours by 10 s; a day by the minute'),
  hours: z.coerce.number().int().min(1).max(MOST_HOURS).default(1).describe('of `entries`'),
})

const EpochMs = z.int().min(0)
const Calls = {
  count: z.int(),
  failed: z.int(),
  p50: z.number().nullable().describe('ms, at most 9 % off; null without calls'),
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
      latency: z.number().nullable().describe('ms; null: no answer'),
    }),
    certificate: z
      .object({
        names: z.string(),
        validFrom: EpochMs,
        validTo: EpochMs,
        problem: z.enum(['expired', 'not-yet-valid', 'expires-soon']).nullable(),
        refused: z.string().nullable().describe('why the newest file is not in use'),
      })
      .nullable()
      .describe('null: the host serves no TLS'),
    memory: z
      .object({
        host: z.int(),
        processes: z.int(),
        maximum: z.number().describe('in force: the lower of RUNTIME_XMX and what the control group leaves'),
        configured: z.number().describe('RUNTIME_XMX'),
        groupLimit: z.number().nullable().describe('of the control group, such as a container’s; null: it has none'),
        used: z.number().describe('of maximum, by the host and all its processes'),
      })
      .describe('bytes'),
    telemetry: z
      .array(
        z.object({
          signal: z.enum(SIGNALS),
          state: z.enum(['ok', 'away', 'barred']).describe('barred: address or token are refused'),
          correct: z.string().nullable().describe('barred: the property to correct; else null'),
          waiting: z.int().describe('bytes'),
          dropped: z.int().describe('data points, log records or spans since the start that never arrive'),
          droppedAt: EpochMs.nullable().describe('the last time that one was dropped; null: none was'),
        }),
      )
      .describe('what is sent to a collector; empty: nothing is'),
    clients: z.int().describe('open on this host'),
    processes: z.array(
      z.object({
        pid: z.int(),
        solution: z.string().nullable(),
        calls: z.int(),
        clients: z.int().nullable(),
        memory: z.int().describe('bytes that it holds alone'),
      }),
    ),
    quarantined: z.array(z.object({ solution: z.string(), retryAt: EpochMs })).nullable(),
    cloudLogins: z
      .array(z.object({ solution: z.string(), problem: z.enum(CLOUD_LOGIN_PROBLEMS) }))
      .describe(
        'solutions of PLATFORM_CLOUD whose users, or whose page, the control center keeps away, as this host saw it last',
      ),
    cloud: z
      .object({
        state: z.enum(['connecting', 'connected', 'away', 'barred']).describe('barred: address or token are refused'),
        since: EpochMs,
        number: z.int().nullable().describe('of the desired state that was tried last'),
        triedAt: EpochMs.nullable(),
        failed: z.array(z.object({ name: z.string(), message: z.string() })).describe('versions that were refused'),
        refused: z.string().nullable().describe('why the last statement was not taken; null: it was'),
      })
      .nullable()
      .describe('the control center; null: there is none'),
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
        .describe('the oldest first, without gaps'),
    }),
    signIns: z
      .array(z.object({ at: EpochMs, outcome: z.string(), count: z.int() }))
      .nullable()
      .describe('of all hosts; null: the database did not answer'),
    entries: z
      .array(z.object({ solution: z.string(), entry: z.string(), ...Calls }))
      .describe('entry functions and handlers; what took the most time in all first'),
  })
  .meta({ id: 'Health' })

export function healthRoutes({ health }: HealthApiParts): AdminRoute[] {
  return [
    route(
      'GET /health',
      {
        summary: 'How this host is and what it did lately; it answers while the database is away',
        right: 'health:read',
        query: HealthQuery,
        answers: { 200: Health },
      },
      ({ query }) => health(query),
    ),
  ]
}
