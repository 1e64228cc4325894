import type { WorkbenchLinks } from '../../base/web/render-page.ts'
import type { Settings } from '../config/settings.ts'
import { addressWith } from './page-query.ts'

/** The URL of a solution's workbench. */
export const workbenchPath = (solution: string) => `/admin/solutions/${solution}/workbench`

/** What the admin pages offer of the workbench. Templates ask only here, so that no page links to a missing workbench. */
export function workbenchLinks(mode: Settings['workbench']): WorkbenchLinks {
  return {
    canCreate: mode === 'edit',
    to: (solution, at = {}) => (mode === 'off' ? null : addressWith(workbenchPath(solution), at)),
  }
}
