import { z } from '../../runtime/zod.ts'
import type { PageRouter } from '../pages/page.ts'
import { addressWith, queryText, queryTexts } from '../pages/page-query.ts'
import { type SolutionHeadParts, solutionOf } from '../solutions/page-head.ts'
import { RUN_STATES, type Run } from './job-runs.ts'
import { type ListJobsParts, listJobs } from './list-jobs.ts'

export type JobPageParts = SolutionHeadParts & ListJobsParts

/** Maximum runs per page. */
const SHOWN = 50
/** The badge's style for each state of a run. */
const KINDS = {
  waiting: 'quiet',
  running: 'quiet',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'quiet',
  skipped: 'quiet',
} as const satisfies Record<Run['state'], string>

/** The page that lists the jobs of a solution's active version, and their newest runs. */
export function addJobPages(pages: PageRouter, parts: JobPageParts): void {
  pages.get(
    '/solutions/:name/jobs',
    async (ctx, text) => {
      const solution = await solutionOf(ctx, parts)
      const { name, title } = solution
      const { items, paused, retryAt } = await listJobs(name, parts)
      const { job, state: wanted } = queryTexts(ctx, ['job', 'state'])
      const state = RUN_STATES.find((one) => one === wanted)
      const before = z.uuid().safeParse(queryText(ctx, 'before')).data
      const filter = { ...(job === undefined ? {} : { job }), ...(state === undefined ? {} : { state }) }
      const runs = await parts.jobStore.runs.list(name, { ...filter, before }, SHOWN)
      const path = `/admin/solutions/${name}/jobs`
      const last = runs.length === SHOWN ? runs.at(-1)?.id : undefined
      const model = {
        solution,
        paused,
        retryAt,
        jobs: items.map((one) => ({
          ...one,
          next: one.next.map((at) => ({ at, inZone: zonedText(at, one.timeZone ?? 'Etc/UTC') })),
          kind: one.last === null ? null : KINDS[one.last.state],
        })),
        runs: runs.map((run) => ({ ...run, kind: KINDS[run.state] })),
        states: RUN_STATES,
        filter,
        isFiltered: job !== undefined || state !== undefined,
        newest: before === undefined ? null : addressWith(path, filter),
        older: last === undefined ? null : addressWith(path, { ...filter, before: last }),
      }
      return { template: 'solution-jobs', heading: `${text('admin.tab.jobs')} · ${title}`, part: 'solutions', model }
    },
    'solutions:{name}:read',
  )
}

/** Formats a time, for example as `2026-03-29 03:00`, which reads the same in all languages. */
function zonedText(time: number, timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(time)
}
