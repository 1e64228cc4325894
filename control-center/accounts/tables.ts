import type { Steps } from '../../base/database/migrations.ts'

type AccountTables = {
  /**
   * Mailed password reset links: only a hash of the token is stored. `uid` references the table `users`; `state` is a
   * hash of the values that must not change while the link is valid.
   */
  password_links: { token_hash: string; uid: string; state: string; created_at: number; expires_at: number }
}

declare module '../database/tables.ts' {
  interface CenterTables extends AccountTables {}
}

export const ACCOUNT_STEPS: Steps = (schema, { key }) => [
  schema
    .createTable('password_links')
    .addColumn('token_hash', key, (column) => column.primaryKey())
    .addColumn('uid', key, (column) => column.notNull())
    .addColumn('state', key, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addForeignKeyConstraint('password_links_of', ['uid'], 'users', ['uid'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema.createIndex('password_links_user').on('password_links').columns(['uid']),
]
