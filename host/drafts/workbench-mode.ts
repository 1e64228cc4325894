import { PlatformError } from '../../runtime/errors.ts'
import type { ManagedSettings } from '../cloud/managed/managed-settings.ts'
import type { Settings } from '../config/settings.ts'

/**
 * `edit`: authors can edit a solution in the workbench. `read`: they can only view its files. `off`: there is no
 * workbench.
 */
export type WorkbenchMode = Settings['workbench']

export interface WorkbenchModes {
  /** The workbench mode for all solutions that no control center manages. */
  readonly ofHost: WorkbenchMode
  of(solution: string): Promise<WorkbenchMode>
  /** @throws ERR_NOT_FOUND if there is no workbench */
  needRead(solution: string): Promise<void>
  /** @throws ERR_NOT_FOUND, ERR_WORKBENCH_READ_ONLY */
  needEdit(solution: string): Promise<void>
}

export function createWorkbenchModes(
  { workbench }: Pick<Settings, 'workbench'>,
  managedSettings: Pick<ManagedSettings, 'manages'>,
): WorkbenchModes {
  async function modeOf(solution: string): Promise<WorkbenchMode> {
    return workbench === 'edit' && (await managedSettings.manages(solution)) ? 'read' : workbench
  }

  async function need(solution: string): Promise<WorkbenchMode> {
    const mode = await modeOf(solution)
    if (mode !== 'off') return mode
    throw new PlatformError(
      'ERR_NOT_FOUND',
      'The workbench is disabled on this host. To enable it, set WORKBENCH to "read" or "edit".',
    )
  }

  return {
    ofHost: workbench,
    of: modeOf,
    async needRead(solution) {
      await need(solution)
    },
    async needEdit(solution) {
      if ((await need(solution)) === 'edit') return
      const why =
        workbench === 'read'
          ? 'WORKBENCH is "read"; set it to "edit"'
          : 'a control center manages the solution; change it there'
      throw new PlatformError('ERR_WORKBENCH_READ_ONLY', `"${solution}" can’t be changed here: ${why}.`)
    },
  }
}
