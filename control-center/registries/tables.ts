import type { Steps } from '../../base/database/migrations.ts'

export type RegistryTables = {
  /**
   * Image registries with the credentials that an operator entered. `region` and `key_end` (the last characters of the
   * access key ID) are set only for Amazon ECR.
   */
  registries: {
    id: string
    organisation: string
    name: string
    host: string
    region: string
    namespace: string
    key_end: string
    /**
     * Both keys are encrypted with the platform key. For registries other than Amazon ECR, these two columns contain
     * the username and the password.
     */
    access_key_id: string
    secret_access_key: string
    created_at: number
    changed_at: number
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends RegistryTables {}
}

export const REGISTRY_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('registries')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('name', key, (column) => column.notNull())
    .addColumn('host', text, (column) => column.notNull())
    .addColumn('region', text, (column) => column.notNull())
    .addColumn('namespace', text, (column) => column.notNull())
    .addColumn('key_end', key, (column) => column.notNull())
    .addColumn('access_key_id', text, (column) => column.notNull())
    .addColumn('secret_access_key', text, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('registries_name', ['organisation', 'name'])
    .addForeignKeyConstraint('registries_organisation', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
]
