import type { Context } from 'koa'
import { pageOf } from '../../base/api/open-api.ts'
import { SENT } from '../../base/api/route.ts'
import { wantsEvents } from '../../base/http/event-stream.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { Access, Member } from '../access/access.ts'
import { type MemberRoute, route } from '../access/route.ts'
import type { Environments } from '../environments/environments.ts'
import { renderPart, textFor } from '../pages/page.ts'
import { analysisModel } from './analysis-model.ts'
import { environmentsAsked, figuresFor, filterFor, shownFigures, shownLine, shownRequest } from './asked.ts'
import { followLogs } from './follow-logs.ts'
import { RANGES } from './ranges.ts'
import { Figures, FiguresQuery, LogLine, LogQuery, Trace, TracedRequest, TraceQuery } from './schemas.ts'
import type { Telemetry } from './telemetry.ts'

export type TelemetryApiParts = {
  readonly access: Access
  readonly environments: Environments
  readonly telemetry: Telemetry
}

/** Read-only routes, for all members of the organisation. */
export function telemetryRoutes(parts: TelemetryApiParts): MemberRoute[] {
  const { environments, telemetry } = parts

  async function figures({ organisation }: Member, query: z.infer<typeof FiguresQuery>) {
    const asked = await environmentsAsked(environments, organisation.id, query.environment)
    return shownFigures(await telemetry.analysis.figures(figuresFor(asked, query)), asked)
  }

  return [
    route(
      'GET /organisations/:organisation/analysis',
      {
        summary: 'Get the metrics that Satellites reported',
        right: 'read',
        query: FiguresQuery,
        answers: { 200: Figures },
      },
      ({ who, query }) => figures(who, query),
    ),
    route(
      'GET /organisations/:organisation/analysis/page',
      {
        summary: 'Get the metrics as HTML for the Analysis page',
        right: 'read',
        query: FiguresQuery,
        answers: { 200: z.object({ html: z.string() }) },
      },
      async ({ who, query, ctx }) => {
        const model = analysisModel(await figures(who, query))
        const heading = textFor(ctx)('center.part.analysis')
        return { html: renderPart(ctx, { template: 'analysis-figures', heading, model }) }
      },
    ),
    ...logRoutes(parts),
    ...traceRoutes(parts),
  ]
}

function logRoutes({ access, environments, telemetry }: TelemetryApiParts): MemberRoute[] {
  async function follow(ctx: Context, { organisation, name }: Member, query: LogQuery): Promise<void> {
    const asked = await environmentsAsked(environments, organisation.id, query.environment)
    await followLogs(
      ctx,
      telemetry,
      { who: name, nameOf: asked.nameOf },
      filterFor(asked, query),
      (line) => shownLine(line, asked),
      () => access.stillHas(ctx, 'read'),
    )
  }

  return [
    route(
      'GET /organisations/:organisation/logs',
      {
        summary:
          'Get the newest log lines, in chronological order. With Accept: text/event-stream, new lines are sent as events. ' +
          'Each person or token can have 10 streams, and each environment 50; further requests return 429',
        right: 'read',
        query: LogQuery,
        answers: { 200: pageOf(LogLine) },
      },
      async ({ who, query, ctx }) => {
        if (wantsEvents(ctx)) {
          await follow(ctx, who, query)
          return SENT
        }
        const asked = await environmentsAsked(environments, who.organisation.id, query.environment)
        const page = { limit: query.limit + 1, before: query.before }
        const lines = await telemetry.logs.read(filterFor(asked, query), page)
        const items = lines
          .slice(0, query.limit)
          .toReversed()
          .map((line) => shownLine(line, asked))
        return lines.length > query.limit ? { items, next: String(items[0]?.id) } : { items }
      },
    ),
    route(
      'GET /organisations/:organisation/logs/:id',
      { summary: 'Get a log line', right: 'read', answers: { 200: LogLine } },
      async ({ who, params }) => {
        const asked = await environmentsAsked(environments, who.organisation.id, undefined)
        const id = Number(params.id)
        const line = Number.isSafeInteger(id) && id > 0 ? await telemetry.logs.find(asked.ids, id) : null
        if (line === null)
          throw new PlatformError(
            'ERR_NOT_FOUND',
            `There is no log line ${params.id.slice(0, 100)}. Old log lines are deleted automatically.`,
          )
        return shownLine(line, asked)
      },
    ),
  ]
}

function traceRoutes({ environments, telemetry: { traces } }: TelemetryApiParts): MemberRoute[] {
  return [
    route(
      'GET /organisations/:organisation/traces',
      {
        summary: 'List the traces',
        right: 'read',
        query: TraceQuery,
        answers: { 200: z.object({ items: z.array(TracedRequest) }) },
      },
      async ({ who, query: { environment, range, ...query } }) => {
        const asked = await environmentsAsked(environments, who.organisation.id, environment)
        const from = Date.now() - RANGES[range].length
        const found = await traces.list({ environments: asked.ids, from, ...query })
        return { items: found.map((request) => shownRequest(request, asked)) }
      },
    ),
    route(
      'GET /organisations/:organisation/traces/:trace',
      { summary: 'Get a trace with its spans', right: 'read', answers: { 200: Trace } },
      async ({ who, params: { trace } }) => {
        const asked = await environmentsAsked(environments, who.organisation.id, undefined)
        const found = /^[0-9a-f]{32}$/.test(trace) ? await traces.find(asked.ids, trace) : null
        if (found === null) throw noTrace(trace)
        return { ...found, environment: asked.nameOf(found.environment) }
      },
    ),
  ]
}

export function noTrace(trace: string): PlatformError {
  return new PlatformError(
    'ERR_NOT_FOUND',
    `There is no trace ${trace.slice(0, 100)}. Old traces are deleted automatically.`,
  )
}
