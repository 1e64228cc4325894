import type { Context } from 'koa'
import type { LogLevel } from '../../runtime/outcome.ts'
import type { PageRouter } from '../pages/page.ts'
import { addressWith, queryText, queryTexts } from '../pages/page-query.ts'
import { type SolutionHeadParts, solutionOf } from './page-head.ts'
import type { LogFilter, SolutionLog } from './solution-log.ts'

export type SolutionLogPageParts = SolutionHeadParts & { readonly solutionLog: SolutionLog }

/** Maximum log lines per page. */
const SHOWN = 100
/** Sorted by severity, highest first. */
const LEVELS = ['error', 'warn', 'info', 'debug'] as const satisfies readonly LogLevel[]
const FILTERS = ['level', 'text', 'code', 'correlationId'] as const

/** The log page of a solution, with the newest lines first. The page's script follows new lines. */
export function addSolutionLogPages(pages: PageRouter, parts: SolutionLogPageParts): void {
  pages.get(
    '/solutions/:name/log',
    async (ctx, text) => {
      const solution = await solutionOf(ctx, parts)
      const { name, title } = solution
      const filter = filterOf(ctx)
      const before = Number.parseInt(queryText(ctx, 'before'), 10)
      const isNewest = !(before > 0)
      const { items, next } = await parts.solutionLog.read(name, {
        limit: SHOWN,
        ...filter,
        ...(isNewest ? {} : { before }),
      })
      const path = `/admin/solutions/${name}/log`
      const model = {
        solution,
        filter,
        levels: LEVELS,
        lines: items.toReversed(),
        isNewest,
        newest: addressWith(path, filter),
        older: next === undefined ? null : addressWith(path, { ...filter, before: next }),
        /** The URL that the page's script gets new lines from. */
        api: addressWith(`/admin/api/solutions/${name}/log`, { ...filter, limit: SHOWN }),
      }
      const heading = `${text('admin.tab.log')} · ${title}`
      return { template: 'solution-log', heading, part: 'solutions', model }
    },
    'solutions:{name}:read',
  )
}

function filterOf(ctx: Context): LogFilter {
  const { level: wanted, ...filter } = queryTexts(ctx, FILTERS)
  const level = LEVELS.find((one) => one === wanted)
  return level === undefined ? filter : { level, ...filter }
}
