import { PLATFORM_TABLES, type Saved, type SavedTables } from '../../base/backup/saved.ts'
import { programName } from '../../base/program/program-name.ts'
import { CENTER_MIGRATIONS } from '../migrations/migrations.ts'
import { TELEMETRY_FILE } from '../telemetry/database/open-telemetry.ts'
import { TELEMETRY_MIGRATIONS, telemetryTables } from '../telemetry/database/tables.ts'
import { makeWords } from '../telemetry/log-store.ts'
import { CENTER_TABLES, TELEMETRY_TABLES } from './tables.ts'

const OWN: SavedTables = { name: 'control center', migrations: CENTER_MIGRATIONS, tables: CENTER_TABLES }

const TELEMETRY: SavedTables = {
  name: 'telemetry',
  migrations: TELEMETRY_MIGRATIONS,
  tables: TELEMETRY_TABLES,
  ownFile: TELEMETRY_FILE,
  isOptional: true,
  // The backup doesn't contain the search index, because its format depends on the kind of database. Restoring rebuilds
  // it.
  derived: { tables: { log_words: '001-telemetry' }, make: (db) => makeWords(telemetryTables(db)) },
}

/**
 * Everything that a backup of the control center contains. Bundles and artifacts are in its tables; its folder contains
 * nothing else that must be saved.
 */
export const CONTROL_CENTER: Saved = {
  name: 'control center',
  user: 'control center',
  restoreCommand: `${programName('control-center')} restore`,
  tables: [PLATFORM_TABLES, OWN, TELEMETRY],
  folders: [],
  secretFile: 'set-up-code',
  mayReplace: false,
}

/** Omits telemetry, which is most of the data, to allow frequent backups. */
export const WITHOUT_TELEMETRY: Saved = { ...CONTROL_CENTER, tables: [PLATFORM_TABLES, OWN] }
