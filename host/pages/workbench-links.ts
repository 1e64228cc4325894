import type { WorkbenchLinks } from '../../base/web/render-page.ts'
import type { Settings } from '../config/settings.ts'
import { addressWith } from './page-query.ts'

/** The URL of a solution's workbench. */
export const workbenchPath = (solution: string) => `/admin/solutions/${solution}/workbench`

/**
 * Which parts of the workbench the admin pages offer. Templates use only this, so that no page links to a missing
 * workbench.
 */
export function workbenchLinks(mode: Settings['workbench']): WorkbenchLinks {
  return {
    canCreate: mode === 'edit',
    to: (solution, at = {}) => (mode === 'off' ? null : addressWith(workbenchPath(solution), at)),
  }
}
