import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { ManagedSettings } from '../cloud/managed/managed-settings.ts'
import type { Settings } from '../config/settings.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { Uploads } from '../solutions/upload.ts'
import { createDraftStore } from './draft-store.ts'
import { createDrafts } from './drafts.ts'
import { createTryDraft } from './try-draft.ts'
import { createWorkbenchModes } from './workbench-mode.ts'

export type DraftNeeds = {
  readonly db: HostDatabase
  readonly limits: Limits
  readonly settings: Pick<Settings, 'workbench' | 'home'>
  readonly managedSettings: Pick<ManagedSettings, 'manages'>
  readonly store: SolutionStore
  readonly uploads: Uploads
  readonly supervisor: Supervisor
  /** In epoch ms. */
  readonly now: () => number
}

/** Creates the parts of the workbench. */
export function createDraftParts({
  db,
  limits,
  settings,
  managedSettings,
  store,
  uploads,
  supervisor,
  now,
}: DraftNeeds) {
  const draftStore = createDraftStore(db, limits, now)
  const drafts = createDrafts({ draftStore, store, uploads, supervisor, limits })
  const tryDraft = createTryDraft({ drafts, supervisor, limits, home: settings.home })
  return { draftStore, drafts, tryDraft, workbenchModes: createWorkbenchModes(settings, managedSettings) }
}
