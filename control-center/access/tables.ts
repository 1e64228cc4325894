import type { Generated } from 'kysely'
import type { Steps } from '../../base/database/migrations.ts'

type AccessTables = {
  /** API tokens. `role` is the token's role in the organisation. */
  access_tokens: {
    id: string
    organisation: string
    name: string
    role: string
    token_hash: string
    created_at: number
    expires_at: number | null
  }
  /** The audit log: actions of users, tokens and Satellites. */
  activity: {
    id: Generated<number>
    /** '' if the action doesn't belong to an organisation, such as a refused sign-in. */
    organisation: string
    time: number
    actor: string
    action: string
    /** The name of the user or object that the action changed, such as an environment. */
    subject: string
    outcome: string
    address: string
    correlation: string
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends AccessTables {}
}

export const ACCESS_STEPS: Steps = (schema, { key, text, id, counts }) => [
  schema
    .createTable('access_tokens')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('role', key, (column) => column.notNull())
    .addColumn('token_hash', key, (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addForeignKeyConstraint('access_tokens_organisation', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('activity')
    .addColumn('id', id, (column) => counts(column.primaryKey()))
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('time', 'bigint', (column) => column.notNull())
    .addColumn('actor', key, (column) => column.notNull())
    .addColumn('action', key, (column) => column.notNull())
    .addColumn('subject', key, (column) => column.notNull())
    .addColumn('outcome', key, (column) => column.notNull())
    .addColumn('address', key, (column) => column.notNull())
    .addColumn('correlation', key, (column) => column.notNull()),
  schema.createIndex('activity_order').on('activity').columns(['organisation', 'id']),
  schema.createIndex('activity_time').on('activity').columns(['time']),
]
