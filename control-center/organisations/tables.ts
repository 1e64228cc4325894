import type { Steps } from '../../base/database/migrations.ts'

type OrganisationTables = {
  /** `name` is part of URLs and never changes. */
  organisations: {
    id: string
    name: string
    title: string
    created_at: number
    /** `required`; null if members may choose whether to have a second factor. */
    second_factor: string | null
  }
  /** `uid` references the table `users`. */
  members: { organisation: string; uid: string; role: string; created_at: number }
  /** Open invitations. Accepting an invitation deletes it. Only a hash of the link's token is stored. */
  invitations: {
    id: string
    organisation: string
    email: string
    role: string
    /** The actor's name, as in the audit log. */
    invited_by: string
    token_hash: string
    created_at: number
    expires_at: number
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends OrganisationTables {}
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

export const SECOND_FACTOR_STEPS: Steps = (schema, { key }) => [
  schema.alterTable('organisations').addColumn('second_factor', key),
]

export const INVITATION_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('invitations')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('email', key, (column) => column.notNull())
    .addColumn('role', key, (column) => column.notNull())
    .addColumn('invited_by', text, (column) => column.notNull())
    .addColumn('token_hash', key, (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addForeignKeyConstraint('invitations_organisation', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema.createIndex('invitations_of').on('invitations').columns(['organisation', 'email']),
  schema.createIndex('invitations_expiry').on('invitations').columns(['expires_at']),
]
