import type { Steps } from '../../host/database/migrations.ts'

export type OrganisationTables = {
  /** `name` is part of addresses and never changes. */
  organisations: { id: string; name: string; title: string; created_at: number }
  /** `uid` is of the table `users`. */
  members: { organisation: string; uid: string; role: string; created_at: number }
}

export const ORGANISATION_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('organisations')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('name', key, (column) => column.notNull().unique())
    .addColumn('title', text, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull()),
  schema
    .createTable('members')
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('uid', key, (column) => column.notNull())
    .addColumn('role', key, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('members_key', ['organisation', 'uid'])
    .addForeignKeyConstraint('members_organisation', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    )
    .addForeignKeyConstraint('members_user', ['uid'], 'users', ['uid'], (constraint) => constraint.onDelete('cascade')),
  schema.createIndex('members_of_user').on('members').columns(['uid']),
]
