import type { Tables } from '../database/tables.ts'
import { JOBS } from './pause-jobs.ts'

/** Describes how a table is backed up and restored. */
export type BackupTable = {
  /** The primary key's columns. Rows are read in the order of this key. */
  readonly key: readonly string[]
  /** The schema version that created the table. */
  readonly since: string
  /**
   * Binary columns, stored as base64 in a backup. Tables with such columns are read a few rows at a time, because a row
   * can be tens of megabytes long.
   */
  readonly bytes?: readonly string[]
  /** Whether the primary key is auto-incremented. */
  readonly isCounted?: true
}

const FIRST = '001-solutions-and-sessions'
const USERS = '002-users-and-remembered-logins'
const OAUTH = '003-oauth'
const FACTORS = '010-second-factors'
const SELF_SERVICE = '011-self-service'
const DRAFTS = '022-drafts'

/** All tables that the platform's migrations create, including tables that only the host uses. See `SavedTables`. */
export const BACKUP_TABLES = {
  platform: { key: ['key'], since: FIRST },
  solutions: { key: ['name'], since: FIRST },
  solution_versions: { key: ['solution', 'sha256'], since: FIRST, bytes: ['bundle'] },
  media: { key: ['solution', 'sha256', 'path'], since: FIRST, bytes: ['content'] },
  solution_log: { key: ['id'], since: FIRST, isCounted: true },
  sessions: { key: ['id_hash'], since: FIRST },
  users: { key: ['uid'], since: USERS },
  permissions: { key: ['uid', 'solution', 'name'], since: USERS },
  remembered: { key: ['selector'], since: USERS },
  used_tokens: { key: ['id'], since: USERS },
  grants: { key: ['solution'], since: USERS },
  secrets: { key: ['solution', 'name'], since: USERS },
  api_tokens: { key: ['id'], since: USERS },
  audit: { key: ['id'], since: USERS, isCounted: true },
  throttle: { key: ['key'], since: USERS },
  oauth_settings: { key: ['solution'], since: OAUTH },
  oauth_transactions: { key: ['id'], since: OAUTH },
  provider_logins: { key: ['id'], since: OAUTH },
  admin_sessions: { key: ['id_hash'], since: '004-admin-sessions' },
  cloud_login_pages: { key: ['solution'], since: '006-cloud-login-pages' },
  factor_accounts: { key: ['id'], since: FACTORS },
  factors: { key: ['id'], since: FACTORS },
  recovery_codes: { key: ['account', 'hash'], since: FACTORS },
  open_sign_ins: { key: ['id_hash'], since: FACTORS },
  sign_in_policies: { key: ['solution'], since: FACTORS },
  host_mails: { key: ['id'], since: SELF_SERVICE },
  host_mail_counts: { key: ['organisation', 'asked_by'], since: SELF_SERVICE },
  links: { key: ['token_hash'], since: SELF_SERVICE },
  directories: { key: ['name'], since: '014-directories' },
  drafts: { key: ['id'], since: DRAFTS },
  draft_files: { key: ['draft', 'path'], since: DRAFTS, bytes: ['content'] },
  job_runs: { key: ['id'], since: JOBS },
  job_schedules: { key: ['solution', 'job'], since: JOBS },
  job_pauses: { key: ['solution'], since: JOBS },
} as const satisfies Record<keyof Tables, BackupTable> & Record<string, BackupTable>
