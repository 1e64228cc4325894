import type { Environments } from '../environments/environments.ts'
import type { Figures, FiguresAsked } from './analysis.ts'
import type { LogFilter, StoredLine } from './log-store.ts'
import { RANGES } from './ranges.ts'
import type { LogQuery } from './schemas.ts'
import type { TracedRequest } from './trace-store.ts'

/** The environments that a member's request covers: a single one, or all environments of the organisation. */
export type Asked = {
  readonly ids: readonly string[]
  /** The names of all environments in the organisation. */
  readonly names: readonly string[]
  nameOf(id: string): string
}

/** @throws ERR_NOT_FOUND if the organisation has no environment with this name */
export async function environmentsAsked(
  environments: Environments,
  organisation: string,
  name: string | undefined,
): Promise<Asked> {
  const all = await environments.list(organisation)
  const ids = name === undefined ? all.map(({ id }) => id) : [(await environments.need(organisation, name)).id]
  const names = new Map(all.map((one) => [one.id, one.name]))
  return { ids, names: [...names.values()], nameOf: (id) => names.get(id) ?? '' }
}

export function figuresFor({ ids }: Asked, { range, solution }: Omit<FiguresAsked, 'environments'>): FiguresAsked {
  return { environments: ids, solution, range }
}

export function filterFor({ ids }: Asked, query: LogQuery): LogFilter {
  const { level, solution, words, range, from, to } = query
  const begin = range === undefined ? from : Math.max(from ?? 0, Date.now() - RANGES[range].length)
  return { environments: ids, level, solution, words, from: begin, to }
}

/** A log line as the API returns it and the page shows it, without empty fields. */
export function shownLine(one: StoredLine, { nameOf }: Asked) {
  const { id, time, level, message, environment, solution, scope, code, file, line, correlation, trace, attributes } =
    one
  return {
    id,
    time,
    level,
    message,
    environment: nameOf(environment),
    ...(solution === '' ? {} : { solution }),
    ...(scope === '' ? {} : { scope }),
    ...(code === '' ? {} : { code }),
    ...(file === '' ? {} : { file }),
    ...(line === 0 ? {} : { line }),
    ...(correlation === '' ? {} : { correlationId: correlation }),
    ...(trace === '' ? {} : { trace }),
    attributes,
  }
}

export function shownFigures(figures: Figures, { nameOf }: Asked): Figures {
  return { ...figures, errors: figures.errors.map((one) => ({ ...one, environment: nameOf(one.environment) })) }
}

export function shownRequest(request: TracedRequest, { nameOf }: Asked): TracedRequest {
  return { ...request, environment: nameOf(request.environment) }
}
