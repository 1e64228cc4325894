import type { Steps } from '../../base/database/migrations.ts'

type SolutionUserTables = {
  /** Solutions that an operator added to this list, with or without a package. */
  named_solutions: { organisation: string; solution: string; created_at: number }
  /** Users of an organisation's solutions. `tenant` is JSON or null; `locale` is the language of emails to the user. */
  solution_users: {
    uid: string
    organisation: string
    solution: string
    username: string
    username_key: string
    display_name: string | null
    email: string | null
    email_key: string | null
    email_verified_at: number | null
    must_verify: number
    locale: string
    enabled: number
    tenant: string | null
    password_hash: string | null
    password_changed_at: number | null
    last_login_at: number | null
    created_at: number
  }
  /** Permissions that a user has in addition to the permissions of their roles. */
  solution_user_permissions: { uid: string; name: string }
  /** Roles of a solution. `permissions` is a JSON array of permission names. */
  solution_roles: { organisation: string; solution: string; name: string; permissions: string }
  solution_user_roles: { uid: string; role: string }
  /**
   * Links that were mailed or shown. Only a hash of the token is stored. `state` is a hash of the values that must not
   * change while the link is valid. `proves` is the address that the link was mailed to; null if the link was shown to
   * an operator.
   */
  solution_user_links: {
    token_hash: string
    uid: string
    kind: string
    state: string
    proves: string | null
    created_at: number
    expires_at: number
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends SolutionUserTables {}
}

export const SOLUTION_USER_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('named_solutions')
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('solution', key, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('named_solutions_key', ['organisation', 'solution'])
    .addForeignKeyConstraint('named_solutions_of', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('solution_users')
    .addColumn('uid', key, (column) => column.primaryKey())
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('solution', key, (column) => column.notNull())
    .addColumn('username', text, (column) => column.notNull())
    .addColumn('username_key', key, (column) => column.notNull())
    .addColumn('display_name', text)
    .addColumn('email', text)
    .addColumn('email_key', key)
    .addColumn('email_verified_at', 'bigint')
    .addColumn('must_verify', 'integer', (column) => column.notNull())
    .addColumn('locale', key, (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('tenant', text)
    .addColumn('password_hash', text)
    .addColumn('password_changed_at', 'bigint')
    .addColumn('last_login_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('solution_users_name', ['organisation', 'solution', 'username_key'])
    .addForeignKeyConstraint('solution_users_of', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema.createIndex('solution_users_email').on('solution_users').columns(['organisation', 'solution', 'email_key']),
  schema
    .createTable('solution_user_permissions')
    .addColumn('uid', key, (column) => column.notNull())
    .addColumn('name', key, (column) => column.notNull())
    .addPrimaryKeyConstraint('solution_user_permissions_key', ['uid', 'name'])
    .addForeignKeyConstraint('solution_user_permissions_of', ['uid'], 'solution_users', ['uid'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('solution_roles')
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('solution', key, (column) => column.notNull())
    .addColumn('name', key, (column) => column.notNull())
    .addColumn('permissions', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('solution_roles_key', ['organisation', 'solution', 'name'])
    .addForeignKeyConstraint('solution_roles_of', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('solution_user_roles')
    .addColumn('uid', key, (column) => column.notNull())
    .addColumn('role', key, (column) => column.notNull())
    .addPrimaryKeyConstraint('solution_user_roles_key', ['uid', 'role'])
    .addForeignKeyConstraint('solution_user_roles_of', ['uid'], 'solution_users', ['uid'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('solution_user_links')
    .addColumn('token_hash', key, (column) => column.primaryKey())
    .addColumn('uid', key, (column) => column.notNull())
    .addColumn('kind', key, (column) => column.notNull())
    .addColumn('state', key, (column) => column.notNull())
    .addColumn('proves', text)
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addForeignKeyConstraint('solution_user_links_of', ['uid'], 'solution_users', ['uid'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema.createIndex('solution_user_links_user').on('solution_user_links').columns(['uid']),
]
