import type { Steps } from '../../base/database/migrations.ts'

type DesiredTables = {
  /**
   * The desired state of each environment. `content` is a `DesiredContent` as JSON, and `statement` is its signed form.
   */
  desired_states: { environment: string; number: number; issued_at: number; content: string; statement: string }
}

declare module '../database/tables.ts' {
  interface CenterTables extends DesiredTables {}
}

export const DESIRED_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('desired_states')
    .addColumn('environment', key, (column) => column.primaryKey())
    .addColumn('number', 'bigint', (column) => column.notNull())
    .addColumn('issued_at', 'bigint', (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addColumn('statement', text, (column) => column.notNull())
    .addForeignKeyConstraint('desired_states_of', ['environment'], 'environments', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
]
