import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import type { Environments } from '../environments/environments.ts'
import type { PageRouter } from '../pages/page.ts'
import { analysisModel } from './analysis-model.ts'
import { noTrace } from './api.ts'
import { type Asked, environmentsAsked, figuresFor, filterFor, shownFigures, shownLine, shownRequest } from './asked.ts'
import { hasTooManyWords, MOST_SEARCHED } from './log-search/words.ts'
import { LEVEL_NAMES } from './otlp/read-logs.ts'
import { RANGE_NAMES, RANGES } from './ranges.ts'
import { FiguresQuery, LogQuery, TraceQuery } from './schemas.ts'
import type { Telemetry } from './telemetry.ts'

export type TelemetryPageParts = { readonly environments: Environments; readonly telemetry: Telemetry }

export function addTelemetryPages(pages: PageRouter, { environments, telemetry }: TelemetryPageParts): void {
  const { analysis, logs, traces } = telemetry

  /** The options for the filters on the pages. */
  async function choices({ ids, names }: Asked) {
    return { environments: names, solutions: await analysis.solutions(ids), ranges: RANGE_NAMES }
  }

  pages.ofOrganisation('/analysis', 'read', async (ctx, text, { organisation }) => {
    const query = readWith(FiguresQuery, { ...ctx.query })
    const asked = await environmentsAsked(environments, organisation.id, query.environment)
    const figures = shownFigures(await analysis.figures(figuresFor(asked, query)), asked)
    const live = `/api/organisations/${organisation.name}/analysis/page${addressOf(query)}`
    return {
      template: 'analysis',
      heading: text('center.part.analysis'),
      part: 'analysis',
      model: { ...analysisModel(figures), ...(await choices(asked)), query, live, organisation },
    }
  })

  pages.ofOrganisation('/logs', 'read', async (ctx, text, { organisation }) => {
    const { words } = ctx.query
    const isTooLong = typeof words === 'string' && hasTooManyWords(words)
    const { limit, before, ...query } = readWith(LogQuery, { ...ctx.query, ...(isTooLong ? { words: '' } : {}) })
    const asked = await environmentsAsked(environments, organisation.id, query.environment)
    const found = isTooLong ? [] : await logs.read(filterFor(asked, { ...query, limit }), { limit: limit + 1, before })
    const lines = found.slice(0, limit).map((line) => shownLine(line, asked))
    const path = `/o/${organisation.name}/logs`
    const older = found.length > limit ? `${path}${addressOf({ ...query, before: lines.at(-1)?.id })}` : null
    const { range: _, ...followed } = query
    return {
      template: 'logs',
      heading: text('center.part.logs'),
      part: 'logs',
      model: {
        ...(await choices(asked)),
        query: isTooLong ? { ...query, words } : query,
        tooMany: isTooLong ? MOST_SEARCHED : null,
        lines,
        levels: LEVEL_NAMES,
        path,
        older,
        newest: `${path}${addressOf(query)}`,
        isNewest: before === undefined && query.to === undefined,
        live: `/api/organisations/${organisation.name}/logs${addressOf({ ...followed, limit })}`,
        isFiltered: Object.values(query).some((value) => value !== undefined),
        organisation,
      },
    }
  })

  pages.ofOrganisation('/analysis/traces', 'read', async (ctx, text, { organisation }) => {
    const query = readWith(TraceQuery, { ...ctx.query })
    const { environment, range, ...rest } = query
    const asked = await environmentsAsked(environments, organisation.id, environment)
    const found = await traces.list({ environments: asked.ids, from: Date.now() - RANGES[range].length, ...rest })
    return {
      template: 'traces',
      heading: text('center.traces'),
      part: 'analysis',
      model: {
        ...(await choices(asked)),
        query,
        items: found.map((request) => shownRequest(request, asked)),
        organisation,
      },
    }
  })

  pages.ofOrganisation('/analysis/traces/:trace', 'read', async (ctx, text, { organisation }) => {
    const asked = await environmentsAsked(environments, organisation.id, undefined)
    const trace = traceOf(ctx)
    const found = trace === null ? null : await traces.find(asked.ids, trace)
    if (found === null) throw noTrace(trace ?? 'with this id')
    const whole = Math.max(...found.spans.map(endOf), 0.001)
    const [first] = found.spans
    return {
      template: 'trace',
      heading: first?.name ?? text('center.traces'),
      part: 'analysis',
      model: { ...found, environment: asked.nameOf(found.environment), trace, whole, organisation },
    }
  })
}

function traceOf(ctx: Context): string | null {
  const trace = String((ctx.params as { trace?: unknown }).trace)
  return /^[0-9a-f]{32}$/.test(trace) ? trace : null
}

type Timed = { readonly start: number; readonly duration: number; readonly parts: readonly Timed[] }

function endOf({ start, duration, parts }: Timed): number {
  return Math.max(start + duration, ...parts.map(endOf))
}

/** Builds a URL query string from the values that are defined. */
function addressOf(query: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  const text = new URLSearchParams(pairs).toString()
  return text === '' ? '' : `?${text}`
}
