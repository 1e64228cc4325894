import type { Steps } from '../../base/database/migrations.ts'

type EnvironmentTables = {
  /** `name` is unique in its organisation; `type` is one of `ENVIRONMENT_TYPES`. */
  environments: { id: string; organisation: string; name: string; type: string; created_at: number }
  /** The last report from each environment's Satellites. `health` is JSON. */
  environment_states: {
    environment: string
    last_seen_at: number
    version: string | null
    health: string | null
  }
  /** Remote environment tokens: only a hash is stored. */
  environment_tokens: {
    id: string
    environment: string
    name: string
    token_hash: string
    created_at: number
    last_used_at: number | null
  }
  /**
   * The solutions that an environment's token may read and sign users in to: those that were rolled out to the
   * environment, and those that an operator added.
   */
  environment_solutions: { environment: string; solution: string; added_at: number }
}

declare module '../database/tables.ts' {
  interface CenterTables extends EnvironmentTables {}
}

export const ENVIRONMENT_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('environments')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('name', key, (column) => column.notNull())
    .addColumn('type', key, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('environments_name', ['organisation', 'name'])
    .addForeignKeyConstraint('environments_organisation', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('environment_states')
    .addColumn('environment', key, (column) => column.primaryKey())
    .addColumn('last_seen_at', 'bigint', (column) => column.notNull())
    .addColumn('version', text)
    .addColumn('health', text)
    .addForeignKeyConstraint('environment_states_of', ['environment'], 'environments', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('environment_tokens')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('environment', key, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('token_hash', key, (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_used_at', 'bigint')
    .addForeignKeyConstraint('environment_tokens_of', ['environment'], 'environments', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('environment_solutions')
    .addColumn('environment', key, (column) => column.notNull())
    .addColumn('solution', key, (column) => column.notNull())
    .addColumn('added_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('environment_solutions_key', ['environment', 'solution'])
    .addForeignKeyConstraint('environment_solutions_of', ['environment'], 'environments', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
]
