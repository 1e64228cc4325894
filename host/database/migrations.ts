import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The schema's versions, in order. A version that was released is never changed: the next one changes the tables. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '001-solutions-and-sessions': {
    async up(db: Kysely<never>) {
      await db.schema
        .createTable('platform')
        .addColumn('key', 'text', (column) => column.primaryKey())
        .addColumn('value', 'text', (column) => column.notNull())
        .execute()
      await db.schema
        .createTable('solutions')
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('active_sha256', 'text')
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('deleted_at', 'bigint')
        .execute()
      await db.schema
        .createTable('solution_versions')
        .addColumn('solution', 'text', (column) => column.notNull().references('solutions.name').onDelete('cascade'))
        .addColumn('sha256', 'text', (column) => column.notNull())
        .addColumn('version', 'text', (column) => column.notNull())
        .addColumn('title', 'text', (column) => column.notNull())
        .addColumn('type', 'text', (column) => column.notNull())
        .addColumn('authenticator', 'text', (column) => column.notNull())
        .addColumn('listed', 'integer', (column) => column.notNull())
        .addColumn('prepared', 'text', (column) => column.notNull())
        .addColumn('bundle', 'blob', (column) => column.notNull())
        .addColumn('bytes', 'integer', (column) => column.notNull())
        .addColumn('uploaded_at', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('solution_versions_key', ['solution', 'sha256'])
        .execute()
      await db.schema
        .createTable('media')
        .addColumn('solution', 'text', (column) => column.notNull())
        .addColumn('sha256', 'text', (column) => column.notNull())
        .addColumn('path', 'text', (column) => column.notNull())
        .addColumn('etag', 'text', (column) => column.notNull())
        .addColumn('content', 'blob', (column) => column.notNull())
        .addPrimaryKeyConstraint('media_key', ['solution', 'sha256', 'path'])
        .addForeignKeyConstraint(
          'media_version',
          ['solution', 'sha256'],
          'solution_versions',
          ['solution', 'sha256'],
          (constraint) => constraint.onDelete('cascade'),
        )
        .execute()
      await db.schema
        .createTable('solution_log')
        .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
        .addColumn('solution', 'text', (column) => column.notNull())
        .addColumn('time', 'bigint', (column) => column.notNull())
        .addColumn('level', 'text', (column) => column.notNull())
        .addColumn('message', 'text', (column) => column.notNull())
        .addColumn('code', 'text')
        .addColumn('file', 'text')
        .addColumn('line', 'integer')
        .addColumn('column', 'integer')
        .addColumn('correlation_id', 'text')
        .execute()
      await db.schema.createIndex('solution_log_order').on('solution_log').columns(['solution', 'id']).execute()
      await db.schema
        .createTable('sessions')
        .addColumn('id_hash', 'text', (column) => column.primaryKey())
        .addColumn('public_id', 'text', (column) => column.notNull().unique())
        .addColumn('solution', 'text', (column) => column.notNull())
        .addColumn('username', 'text', (column) => column.notNull())
        .addColumn('uid', 'text', (column) => column.notNull())
        .addColumn('permissions', 'text', (column) => column.notNull())
        .addColumn('tenant', 'text')
        .addColumn('locale', 'text', (column) => column.notNull())
        .addColumn('address', 'text', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('last_seen_at', 'bigint', (column) => column.notNull())
        .addColumn('ended_at', 'bigint')
        .execute()
      await db.schema.createIndex('sessions_of_solution').on('sessions').columns(['solution']).execute()
    },
  },
  '002-users-and-remembered-logins': {
    async up(db: Kysely<never>) {
      await db.schema
        .alterTable('sessions')
        .addColumn('source', 'text', (column) => column.notNull().defaultTo(''))
        .execute()
      await db.schema.alterTable('sessions').addColumn('selector', 'text').execute()
      await db.schema
        .createTable('users')
        .addColumn('uid', 'text', (column) => column.primaryKey())
        .addColumn('username', 'text', (column) => column.notNull())
        .addColumn('username_key', 'text', (column) => column.notNull().unique())
        .addColumn('display_name', 'text')
        .addColumn('email', 'text')
        .addColumn('password_hash', 'text')
        .addColumn('enabled', 'integer', (column) => column.notNull())
        .addColumn('must_change_password', 'integer', (column) => column.notNull())
        .addColumn('password_changed_at', 'bigint')
        .addColumn('last_login_at', 'bigint')
        .addColumn('failed_count', 'integer', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .execute()
      await db.schema
        .createTable('permissions')
        .addColumn('uid', 'text', (column) => column.notNull().references('users.uid').onDelete('cascade'))
        .addColumn('solution', 'text', (column) => column.notNull())
        .addColumn('name', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('permissions_key', ['uid', 'solution', 'name'])
        .execute()
      await db.schema
        .createTable('remembered')
        .addColumn('selector', 'text', (column) => column.primaryKey())
        .addColumn('solution', 'text', (column) => column.notNull())
        .addColumn('source', 'text', (column) => column.notNull())
        .addColumn('validator_hash', 'text', (column) => column.notNull())
        .addColumn('previous_hash', 'text')
        .addColumn('rotated_at', 'bigint', (column) => column.notNull())
        .addColumn('uid', 'text', (column) => column.notNull())
        .addColumn('username', 'text', (column) => column.notNull())
        .addColumn('permissions', 'text', (column) => column.notNull())
        .addColumn('last_login_at', 'bigint', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('ended_at', 'bigint')
        .execute()
      await db.schema
        .createTable('used_tokens')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .execute()
      await db.schema
        .createTable('grants')
        .addColumn('solution', 'text', (column) => column.primaryKey())
        .addColumn('value', 'text', (column) => column.notNull())
        .execute()
      await db.schema
        .createTable('secrets')
        .addColumn('solution', 'text', (column) => column.notNull())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('value', 'text', (column) => column.notNull())
        .addColumn('hosts', 'text', (column) => column.notNull())
        .addColumn('updated_at', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('secrets_key', ['solution', 'name'])
        .execute()
      await db.schema
        .createTable('api_tokens')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('token_hash', 'text', (column) => column.notNull().unique())
        .addColumn('scopes', 'text', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('expires_at', 'bigint')
        .execute()
      await db.schema
        .createTable('audit')
        .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
        .addColumn('time', 'bigint', (column) => column.notNull())
        .addColumn('actor', 'text', (column) => column.notNull())
        .addColumn('action', 'text', (column) => column.notNull())
        .addColumn('solution', 'text')
        .addColumn('outcome', 'text', (column) => column.notNull())
        .addColumn('address', 'text', (column) => column.notNull())
        .addColumn('correlation_id', 'text')
        .execute()
      await db.schema.createIndex('audit_time').on('audit').columns(['time']).execute()
      await db.schema.createIndex('sessions_of_user').on('sessions').columns(['uid']).execute()
      await db.schema.createIndex('remembered_of_user').on('remembered').columns(['uid']).execute()
      await db.schema
        .createTable('throttle')
        .addColumn('key', 'text', (column) => column.primaryKey())
        .addColumn('points', 'integer', (column) => column.notNull())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .execute()
    },
  },
}
