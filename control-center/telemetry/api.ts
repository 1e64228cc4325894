import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Access } from '../access/access.ts'
import type { Environments } from '../environments/environments.ts'
import { renderPart, textFor } from '../pages/page.ts'
import { analysisModel } from './analysis-model.ts'
import { environmentsAsked, figuresFor, filterFor, shownFigures, shownLine, shownRequest } from './asked.ts'
import { followLogs } from './follow-logs.ts'
import { FiguresQuery, LogQuery, TraceQuery } from './openapi.ts'
import { RANGES } from './ranges.ts'
import type { Telemetry } from './telemetry.ts'

export type TelemetryApiParts = {
  readonly access: Access
  readonly environments: Environments
  readonly telemetry: Telemetry
}

/** All of it reads, for everybody of the organisation. */
export function addTelemetryRoutes(router: Router, { access, environments, telemetry }: TelemetryApiParts): void {
  const below = '/organisations/:organisation'
  const { analysis, logs, traces } = telemetry

  router.get(`${below}/analysis`, async (ctx) => {
    ctx.body = await figures(ctx)
  })

  router.get(`${below}/analysis/page`, async (ctx) => {
    const model = analysisModel(await figures(ctx))
    const heading = textFor(ctx)('center.part.analysis')
    ctx.body = { html: renderPart(ctx, { template: 'analysis-figures', heading, model }) }
  })

  async function figures(ctx: Context) {
    const { organisation } = await access.need(ctx, 'read')
    const query = readWith(FiguresQuery, { ...ctx.query })
    const asked = await environmentsAsked(environments, organisation.id, query.environment)
    return shownFigures(await analysis.figures(figuresFor(asked, query)), asked)
  }

  router.get(`${below}/logs`, async (ctx) => {
    const { organisation, name: who } = await access.need(ctx, 'read')
    const query = readWith(LogQuery, { ...ctx.query })
    const asked = await environmentsAsked(environments, organisation.id, query.environment)
    const filter = filterFor(asked, query)
    if (ctx.accepts('application/json', 'text/event-stream') === 'text/event-stream') {
      return followLogs(
        ctx,
        telemetry,
        { who, nameOf: asked.nameOf },
        filter,
        (line) => shownLine(line, asked),
        () => access.stillHas(ctx, 'read'),
      )
    }
    const lines = await logs.read(filter, { limit: query.limit + 1, before: query.before })
    const items = lines
      .slice(0, query.limit)
      .toReversed()
      .map((line) => shownLine(line, asked))
    ctx.body = lines.length > query.limit ? { items, next: String(items[0]?.id) } : { items }
  })

  router.get(`${below}/logs/:id`, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const asked = await environmentsAsked(environments, organisation.id, undefined)
    const id = Number(ctx.params.id)
    const line = Number.isSafeInteger(id) && id > 0 ? await logs.find(asked.ids, id) : null
    if (line === null) throw new PlatformError('ERR_NOT_FOUND', 'There is no such line, or it is kept no longer.')
    ctx.body = shownLine(line, asked)
  })

  router.get(`${below}/traces`, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const { environment, range, ...query } = readWith(TraceQuery, { ...ctx.query })
    const asked = await environmentsAsked(environments, organisation.id, environment)
    const from = Date.now() - RANGES[range].length
    const found = await traces.list({ environments: asked.ids, from, ...query })
    ctx.body = { items: found.map((request) => shownRequest(request, asked)) }
  })

  router.get(`${below}/traces/:trace`, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const asked = await environmentsAsked(environments, organisation.id, undefined)
    const trace = String(ctx.params.trace)
    const found = /^[0-9a-f]{32}$/.test(trace) ? await traces.find(asked.ids, trace) : null
    if (found === null) throw noTrace()
    ctx.body = { ...found, environment: asked.nameOf(found.environment) }
  })
}

export function noTrace(): PlatformError {
  return new PlatformError('ERR_NOT_FOUND', 'There is no such request, or it is kept no longer.')
}
