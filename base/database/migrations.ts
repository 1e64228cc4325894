import { type Kysely, sql } from 'kysely'
import { DEFAULT_MIGRATION_LOCK_TABLE, DEFAULT_MIGRATION_TABLE, type Migration } from 'kysely/migration'
import { embedded } from './embedded.ts'
import type { ColumnTypes, DatabaseKind, OpenDatabase } from './kind.ts'
import { kindOf } from './kinds.ts'

/** One statement that changes the schema. */
export type Step = { execute(): Promise<unknown> }
export type Steps = (schema: Kysely<never>['schema'], types: ColumnTypes, db: OpenDatabase) => readonly Step[]

/**
 * The schema's versions, in order. Never change a released version; add a new one. Only add tables and optional
 * columns, because hosts of the previous version keep using the tables during a rolling upgrade.
 */
const VERSIONS: Readonly<Record<string, Steps>> = {
  '001-solutions-and-sessions': (schema, { key, text, bytes, id, counts }) => [
    schema
      .createTable('platform')
      .addColumn('key', key, (column) => column.primaryKey())
      .addColumn('value', text, (column) => column.notNull()),
    schema
      .createTable('solutions')
      .addColumn('name', key, (column) => column.primaryKey())
      .addColumn('active_sha256', key)
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('deleted_at', 'bigint'),
    schema
      .createTable('solution_versions')
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('sha256', key, (column) => column.notNull())
      .addColumn('version', text, (column) => column.notNull())
      .addColumn('title', text, (column) => column.notNull())
      .addColumn('type', text, (column) => column.notNull())
      .addColumn('authenticator', text, (column) => column.notNull())
      .addColumn('listed', 'integer', (column) => column.notNull())
      .addColumn('prepared', text, (column) => column.notNull())
      .addColumn('bundle', bytes, (column) => column.notNull())
      .addColumn('bytes', 'integer', (column) => column.notNull())
      .addColumn('uploaded_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('solution_versions_key', ['solution', 'sha256'])
      .addForeignKeyConstraint('solution_versions_solution', ['solution'], 'solutions', ['name'], (constraint) =>
        constraint.onDelete('cascade'),
      ),
    schema
      .createTable('media')
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('sha256', key, (column) => column.notNull())
      .addColumn('path', key, (column) => column.notNull())
      .addColumn('etag', text, (column) => column.notNull())
      .addColumn('content', bytes, (column) => column.notNull())
      .addPrimaryKeyConstraint('media_key', ['solution', 'sha256', 'path'])
      .addForeignKeyConstraint(
        'media_version',
        ['solution', 'sha256'],
        'solution_versions',
        ['solution', 'sha256'],
        (constraint) => constraint.onDelete('cascade'),
      ),
    schema
      .createTable('solution_log')
      .addColumn('id', id, (column) => counts(column.primaryKey()))
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('time', 'bigint', (column) => column.notNull())
      .addColumn('level', text, (column) => column.notNull())
      .addColumn('message', text, (column) => column.notNull())
      .addColumn('code', text)
      .addColumn('file', text)
      .addColumn('line', 'integer')
      .addColumn('column', 'integer')
      .addColumn('correlation_id', text),
    schema.createIndex('solution_log_order').on('solution_log').columns(['solution', 'id']),
    schema
      .createTable('sessions')
      .addColumn('id_hash', key, (column) => column.primaryKey())
      .addColumn('public_id', key, (column) => column.notNull().unique())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('username', text, (column) => column.notNull())
      .addColumn('uid', key, (column) => column.notNull())
      .addColumn('permissions', text, (column) => column.notNull())
      .addColumn('tenant', text)
      .addColumn('locale', text, (column) => column.notNull())
      .addColumn('address', text, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_seen_at', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint'),
    schema.createIndex('sessions_of_solution').on('sessions').columns(['solution']),
  ],
  '002-users-and-remembered-logins': (schema, { key, text, id, counts }) => [
    schema.alterTable('sessions').addColumn('source', key, (column) => column.notNull().defaultTo('')),
    schema.alterTable('sessions').addColumn('selector', key),
    schema.alterTable('solution_log').addColumn('size', 'bigint', (column) => column.notNull().defaultTo(0)),
    schema
      .createTable('users')
      .addColumn('uid', key, (column) => column.primaryKey())
      .addColumn('username', text, (column) => column.notNull())
      .addColumn('username_key', key, (column) => column.notNull().unique())
      .addColumn('display_name', text)
      .addColumn('email', text)
      .addColumn('password_hash', text)
      .addColumn('enabled', 'integer', (column) => column.notNull())
      .addColumn('must_change_password', 'integer', (column) => column.notNull())
      .addColumn('password_changed_at', 'bigint')
      .addColumn('last_login_at', 'bigint')
      .addColumn('failed_count', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull()),
    schema
      .createTable('permissions')
      .addColumn('uid', key, (column) => column.notNull())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('name', key, (column) => column.notNull())
      .addPrimaryKeyConstraint('permissions_key', ['uid', 'solution', 'name'])
      .addForeignKeyConstraint('permissions_user', ['uid'], 'users', ['uid'], (constraint) =>
        constraint.onDelete('cascade'),
      ),
    schema
      .createTable('remembered')
      .addColumn('selector', key, (column) => column.primaryKey())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('source', key, (column) => column.notNull())
      .addColumn('validator_hash', text, (column) => column.notNull())
      .addColumn('previous_hash', text)
      .addColumn('rotated_at', 'bigint', (column) => column.notNull())
      .addColumn('uid', key, (column) => column.notNull())
      .addColumn('username', text, (column) => column.notNull())
      .addColumn('permissions', text, (column) => column.notNull())
      .addColumn('last_login_at', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint'),
    schema
      .createTable('used_tokens')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('expires_at', 'bigint', (column) => column.notNull()),
    schema
      .createTable('grants')
      .addColumn('solution', key, (column) => column.primaryKey())
      .addColumn('value', text, (column) => column.notNull()),
    schema
      .createTable('secrets')
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('name', key, (column) => column.notNull())
      .addColumn('value', text, (column) => column.notNull())
      .addColumn('hosts', text, (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('secrets_key', ['solution', 'name']),
    schema
      .createTable('api_tokens')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('name', key, (column) => column.notNull())
      .addColumn('token_hash', key, (column) => column.notNull().unique())
      .addColumn('scopes', text, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint'),
    schema
      .createTable('audit')
      .addColumn('id', id, (column) => counts(column.primaryKey()))
      .addColumn('time', 'bigint', (column) => column.notNull())
      .addColumn('actor', key, (column) => column.notNull())
      .addColumn('action', text, (column) => column.notNull())
      .addColumn('solution', key)
      .addColumn('outcome', text, (column) => column.notNull())
      .addColumn('address', text, (column) => column.notNull())
      .addColumn('correlation_id', text),
    schema.createIndex('audit_time').on('audit').columns(['time']),
    schema.createIndex('audit_actor').on('audit').columns(['actor']),
    schema.createIndex('sessions_of_user').on('sessions').columns(['uid']),
    schema.createIndex('remembered_of_user').on('remembered').columns(['uid']),
    schema
      .createTable('throttle')
      .addColumn('key', key, (column) => column.primaryKey())
      .addColumn('points', 'integer', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull()),
  ],
  '003-oauth': (schema, { key, text }) => [
    schema.alterTable('sessions').addColumn('provider_login', key),
    schema.alterTable('remembered').addColumn('provider_login', key),
    schema.createIndex('sessions_of_provider_login').on('sessions').columns(['provider_login']),
    schema.createIndex('remembered_of_provider_login').on('remembered').columns(['provider_login']),
    schema
      .createTable('oauth_settings')
      .addColumn('solution', key, (column) => column.primaryKey())
      .addColumn('value', text, (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull()),
    schema
      .createTable('oauth_transactions')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('network', key, (column) => column.notNull())
      .addColumn('browser_hash', key, (column) => column.notNull())
      .addColumn('return_to', text, (column) => column.notNull())
      .addColumn('content', text, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('used_at', 'bigint'),
    schema.createIndex('oauth_transactions_of_network').on('oauth_transactions').columns(['solution', 'network']),
    schema.createIndex('oauth_transactions_time').on('oauth_transactions').columns(['created_at']),
    schema
      .createTable('provider_logins')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('client_hash', key, (column) => column.notNull())
      .addColumn('subject_hash', key, (column) => column.notNull())
      .addColumn('sid_hash', key)
      .addColumn('content', text, (column) => column.notNull())
      .addColumn('refreshed_at', 'bigint', (column) => column.notNull())
      .addColumn('refreshing_since', 'bigint')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint'),
    schema.createIndex('provider_logins_of_client').on('provider_logins').columns(['client_hash']),
    schema.createIndex('provider_logins_of_subject').on('provider_logins').columns(['subject_hash']),
    schema.createIndex('provider_logins_of_sid').on('provider_logins').columns(['sid_hash']),
  ],
  '004-admin-sessions': (schema, { key }) => [
    schema
      .createTable('admin_sessions')
      .addColumn('id_hash', key, (column) => column.primaryKey())
      .addColumn('account', key, (column) => column.notNull())
      .addColumn('address', key, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_seen_at', 'bigint', (column) => column.notNull()),
  ],
  '005-audit-search': (schema, { key }, db) => [
    // Replaces `correlation_id`, because two kinds of database can't index text of any length.
    schema.alterTable('audit').addColumn('correlation', key),
    { execute: () => sql`UPDATE audit SET correlation = correlation_id WHERE correlation IS NULL`.execute(db) },
    schema.createIndex('audit_correlation').on('audit').columns(['correlation']),
    schema.createIndex('audit_solution').on('audit').columns(['solution']),
  ],
  '006-cloud-login-pages': (schema, { key, text }) => [
    schema
      .createTable('cloud_login_pages')
      .addColumn('solution', key, (column) => column.primaryKey())
      .addColumn('content', text, (column) => column.notNull())
      .addColumn('tag', key)
      .addColumn('source', key, (column) => column.notNull())
      .addColumn('checked_at', 'bigint', (column) => column.notNull()),
  ],
  '007-audit-target': (schema, { key }) => [
    schema.alterTable('audit').addColumn('target', key),
    schema.createIndex('audit_target').on('audit').columns(['target']),
  ],
  '008-remembered-values': (schema, { key, text }) => [
    schema.alterTable('remembered').addColumn('custom', text),
    schema.alterTable('remembered').addColumn('tenant', text),
    schema.alterTable('remembered').addColumn('locale', key),
  ],
  '009-media-pieces': (schema, { key, bytes }) => [
    schema
      .createTable('media_pieces')
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('sha256', key, (column) => column.notNull())
      .addColumn('path', key, (column) => column.notNull())
      .addColumn('piece', 'integer', (column) => column.notNull())
      .addColumn('content', bytes, (column) => column.notNull())
      .addPrimaryKeyConstraint('media_pieces_key', ['solution', 'sha256', 'path', 'piece'])
      .addForeignKeyConstraint(
        'media_pieces_file',
        ['solution', 'sha256', 'path'],
        'media',
        ['solution', 'sha256', 'path'],
        (constraint) => constraint.onDelete('cascade'),
      ),
  ],
  '010-second-factors': (schema, { key, text }) => [
    schema
      .createTable('factor_accounts')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('source', key, (column) => column.notNull())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('uid', key, (column) => column.notNull())
      .addColumn('user_handle', key, (column) => column.notNull().unique())
      .addColumn('first_asked_at', 'bigint')
      .addColumn('wrong_tries', 'integer', (column) => column.notNull())
      .addColumn('last_login_at', 'bigint')
      .addColumn('created_at', 'bigint', (column) => column.notNull()),
    schema.createIndex('factor_accounts_of_solution').on('factor_accounts').columns(['solution']),
    schema
      .createTable('factors')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('account', key, (column) => column.notNull())
      .addColumn('kind', key, (column) => column.notNull())
      .addColumn('lookup', key, (column) => column.notNull().unique())
      .addColumn('name', text, (column) => column.notNull())
      .addColumn('secret', text, (column) => column.notNull())
      .addColumn('rp_id', text)
      .addColumn('counter', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_used_at', 'bigint')
      .addColumn('refused_at', 'bigint')
      .addForeignKeyConstraint('factors_account', ['account'], 'factor_accounts', ['id'], (constraint) =>
        constraint.onDelete('cascade'),
      ),
    schema.createIndex('factors_of_account').on('factors').columns(['account']),
    schema
      .createTable('recovery_codes')
      .addColumn('account', key, (column) => column.notNull())
      .addColumn('hash', key, (column) => column.notNull())
      .addColumn('salt', key, (column) => column.notNull())
      .addColumn('used_at', 'bigint')
      .addPrimaryKeyConstraint('recovery_codes_key', ['account', 'hash'])
      .addForeignKeyConstraint('recovery_codes_account', ['account'], 'factor_accounts', ['id'], (constraint) =>
        constraint.onDelete('cascade'),
      ),
    schema
      .createTable('open_sign_ins')
      .addColumn('id_hash', key, (column) => column.primaryKey())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('account', key, (column) => column.notNull())
      .addColumn('content', text, (column) => column.notNull())
      .addColumn('wrong_tries', 'integer', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint'),
    schema
      .createTable('sign_in_policies')
      .addColumn('solution', key, (column) => column.primaryKey())
      .addColumn('value', text, (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull()),
    ...(['sessions', 'remembered'] as const).flatMap((table) => [
      schema.alterTable(table).addColumn('methods', text),
      schema.alterTable(table).addColumn('agent', text),
      schema.alterTable(table).addColumn('factors_of', key),
    ]),
    schema.alterTable('sessions').addColumn('confirmed_at', 'bigint'),
  ],
  '011-self-service': (schema, { key, text }) => [
    schema
      .createTable('host_mails')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('organisation', key, (column) => column.notNull())
      .addColumn('sealed', text, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('next_at', 'bigint', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull()),
    schema.createIndex('host_mails_due').on('host_mails').columns(['next_at']),
    schema
      .createTable('host_mail_counts')
      .addColumn('organisation', key, (column) => column.notNull())
      .addColumn('asked_by', key, (column) => column.notNull())
      .addColumn('hour', 'bigint', (column) => column.notNull())
      .addColumn('count', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('host_mail_counts_key', ['organisation', 'asked_by']),
    schema
      .createTable('links')
      .addColumn('token_hash', key, (column) => column.primaryKey())
      .addColumn('place', key, (column) => column.notNull().unique())
      .addColumn('kind', key, (column) => column.notNull())
      .addColumn('uid', key, (column) => column.notNull())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('state', key, (column) => column.notNull())
      .addColumn('address', text)
      .addColumn('is_mailed', 'integer', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull()),
    schema.createIndex('links_of_user').on('links').columns(['uid']),
    schema.alterTable('users').addColumn('email_verified_at', 'bigint'),
    schema.alterTable('users').addColumn('locale', key),
  ],
  '013-passkeys': (schema) => [schema.alterTable('factors').addColumn('synced', 'integer')],
  '014-directories': (schema, { key, text }) => [
    schema
      .createTable('directories')
      .addColumn('name', key, (column) => column.primaryKey())
      .addColumn('value', text, (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull()),
    schema.alterTable('users').addColumn('directory', key),
    schema.alterTable('users').addColumn('directory_id', key),
    schema.alterTable('users').addColumn('directory_checked_at', 'bigint'),
    schema.createIndex('users_of_directory').on('users').columns(['directory', 'directory_id']),
  ],
  '015-admin-confirmations': (schema) => [schema.alterTable('admin_sessions').addColumn('confirmed_at', 'bigint')],
  '020-endpoint-tokens': (schema, { text }) => [
    schema.alterTable('api_tokens').addColumn('permissions', text),
    schema.alterTable('api_tokens').addColumn('tenant', text),
  ],
  '021-smaller-provider-index': (schema, _types, db) =>
    // In the embedded database, the index contains only the few rows with a provider login. Writes block the host
    // there, and a small index makes them faster. The other kinds keep the full index. Their writes don't block the
    // host, and they don't support partial indexes or use another syntax for them.
    kindOf(db) !== embedded
      ? []
      : (['sessions', 'remembered'] as const).flatMap((table) => [
          schema.dropIndex(`${table}_of_provider_login`).ifExists(),
          schema
            .createIndex(`${table}_of_provider_login`)
            .on(table)
            .columns(['provider_login'])
            .where(sql.ref('provider_login'), 'is not', null),
        ]),
  '022-drafts': (schema, { key, bytes }) => [
    schema
      .createTable('drafts')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('base_sha256', key)
      .addColumn('owner', key, (column) => column.notNull())
      .addColumn('revision', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('changed_at', 'bigint', (column) => column.notNull()),
    schema.createIndex('drafts_of_solution').on('drafts').columns(['solution']),
    schema
      .createTable('draft_files')
      .addColumn('draft', key, (column) => column.notNull())
      .addColumn('path', key, (column) => column.notNull())
      .addColumn('etag', key, (column) => column.notNull())
      .addColumn('content', bytes, (column) => column.notNull())
      .addPrimaryKeyConstraint('draft_files_key', ['draft', 'path'])
      .addForeignKeyConstraint('draft_files_draft', ['draft'], 'drafts', ['id'], (constraint) =>
        constraint.onDelete('cascade'),
      ),
  ],
  '023-jobs': (schema, { key, text }) => [
    schema
      .createTable('job_runs')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('job', key, (column) => column.notNull())
      .addColumn('state', key, (column) => column.notNull())
      .addColumn('once_key', key, (column) => column.notNull().unique())
      .addColumn('slot', key, (column) => column.notNull().unique())
      .addColumn('tenant', text)
      .addColumn('data', text)
      .addColumn('result', text)
      .addColumn('failure', text)
      .addColumn('attempt', 'integer', (column) => column.notNull())
      .addColumn('missed', 'integer', (column) => column.notNull())
      .addColumn('scheduled_for', 'bigint')
      .addColumn('due_at', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint')
      .addColumn('ended_at', 'bigint')
      .addColumn('lease', key)
      .addColumn('lease_until', 'bigint')
      .addColumn('cancelled_at', 'bigint'),
    schema.createIndex('job_runs_due').on('job_runs').columns(['state', 'due_at']),
    schema.createIndex('job_runs_of_job').on('job_runs').columns(['solution', 'job', 'state', 'due_at']),
    schema.createIndex('job_runs_listed').on('job_runs').columns(['solution', 'created_at']),
    schema
      .createTable('job_schedules')
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('job', key, (column) => column.notNull())
      .addColumn('schedule', text, (column) => column.notNull())
      .addColumn('checked_until', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('job_schedules_key', ['solution', 'job']),
    schema
      .createTable('job_pauses')
      .addColumn('solution', key, (column) => column.primaryKey())
      .addColumn('paused_at', 'bigint', (column) => column.notNull()),
  ],
  '024-ended-job-runs': (schema) => [
    schema.createIndex('job_runs_ended').on('job_runs').columns(['solution', 'ended_at']),
  ],
}

/** The names of the versions, in order. The last one is the current schema version. */
export const SCHEMA_VERSIONS: readonly string[] = Object.keys(VERSIONS)

/**
 * Migrations for tables that belong together. If one database has several such groups, each records its versions in a
 * separate table.
 */
export type Migrations = {
  readonly versions: Readonly<Record<string, Steps>>
  readonly migrationTableName: string
  readonly migrationLockTableName: string
}

export const PLATFORM_MIGRATIONS: Migrations = {
  versions: VERSIONS,
  migrationTableName: DEFAULT_MIGRATION_TABLE,
  migrationLockTableName: DEFAULT_MIGRATION_LOCK_TABLE,
}

/**
 * Returns the migrations for a kind of database. MySQL cannot roll back schema changes. After an interrupted start,
 * some steps of a migration may therefore already be done.
 */
export function migrationsFor(kind: DatabaseKind, { versions } = PLATFORM_MIGRATIONS): Record<string, Migration> {
  return Object.fromEntries(
    Object.entries(versions).map(([name, steps]) => [name, { up: (db: Kysely<never>) => run(db, kind, steps) }]),
  )
}

async function run(db: Kysely<never>, kind: DatabaseKind, steps: Steps): Promise<void> {
  for (const step of steps(db.schema, await kind.columns(db), db)) {
    try {
      await step.execute()
    } catch (error) {
      if (kind.isDoneAlready?.(error) !== true) throw error
    }
  }
}
