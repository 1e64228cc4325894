import type { Logger } from 'pino'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Audit } from '../access/audit.ts'
import type { Settings } from '../config/settings.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { Uploads } from '../solutions/upload.ts'
import { type CloudLogin, createCloudLogin } from './login/cloud-login.ts'
import { createCloudRequests } from './managed/cloud-requests.ts'
import { createKeptStates } from './managed/kept-state.ts'
import { createManaged, type Managed, type ManagedParts } from './managed/managed.ts'
import { createManagedSettings, type ManagedSettings } from './managed/managed-settings.ts'
import { createTakenFile } from './managed/taken-file.ts'

/** The parts that connect a host to its control center. */
export type CloudParts = {
  readonly managedSettings: ManagedSettings
  /** This and `managed` are null if the host is not connected to a control center. */
  readonly cloudLogin: CloudLogin | null
  /** Applies the desired state. The caller must start it. */
  readonly managed: Managed | null
}

export type CloudNeeds = Pick<ManagedParts, 'setLogLevel' | 'health'> & {
  readonly settings: Settings
  readonly version: string
  readonly db: HostDatabase
  readonly supervisor: Supervisor
  readonly store: SolutionStore
  readonly uploads: Uploads
  readonly audit: Audit
  readonly log: Logger
  readonly solutionLog: SolutionLog
  /** In epoch ms. */
  readonly now: () => number
}

export function createCloudParts(needs: CloudNeeds): CloudParts {
  const { settings, db } = needs
  const { cloud, limits, defaultSolution } = settings
  if (cloud === null) {
    return { managedSettings: createManagedSettings(null, defaultSolution), cloudLogin: null, managed: null }
  }
  const kept = createKeptStates(db, createTakenFile(settings.home))
  return {
    managedSettings: createManagedSettings(kept, defaultSolution),
    cloudLogin: createCloudLogin({ ...needs, cloud, limits }),
    managed: createManaged({ ...needs, cloud, kept, limits, ask: createCloudRequests(cloud) }),
  }
}
