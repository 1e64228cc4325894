import type { Schema } from '../../host/database/migrations.ts'
import { ACCESS_STEPS } from '../access/tables.ts'
import { ENVIRONMENT_STEPS } from '../environments/tables.ts'
import { ORGANISATION_STEPS } from '../organisations/tables.ts'

/**
 * What the control center adds to the platform's tables. Its versions, in order, have tables of their own to be noted in, so
 * that the platform's go on counting beside them. The rules are those of host/database/migrations.ts.
 */
export const CENTER_SCHEMA: Schema = {
  versions: {
    '001-organisations': ORGANISATION_STEPS,
    '002-access': ACCESS_STEPS,
    '003-environments': ENVIRONMENT_STEPS,
  },
  migrationTableName: 'center_migration',
  migrationLockTableName: 'center_migration_lock',
}
