import type { BackupTable } from '../../base/backup/tables.ts'
import type { Tables } from '../../base/database/tables.ts'
import type { CenterTables } from '../database/tables.ts'
import type { TelemetryTables } from '../telemetry/database/tables.ts'

/**
 * All tables that the control center adds to the platform's tables. Each is listed after the tables that it references.
 * If you add a table, add it here too.
 */
export const CENTER_TABLES = {
  organisations: { key: ['id'], since: '001-organisations' },
  members: { key: ['organisation', 'uid'], since: '001-organisations' },
  access_tokens: { key: ['id'], since: '002-access' },
  activity: { key: ['id'], since: '002-access', isCounted: true },
  environments: { key: ['id'], since: '003-environments' },
  environment_states: { key: ['environment'], since: '003-environments' },
  environment_tokens: { key: ['id'], since: '003-environments' },
  environment_solutions: { key: ['environment', 'solution'], since: '003-environments' },
  invitations: { key: ['id'], since: '004-invitations' },
  registries: { key: ['id'], since: '005-registries' },
  desired_states: { key: ['environment'], since: '006-desired' },
  satellite_reports: { key: ['environment', 'node'], since: '007-satellites' },
  rollouts: { key: ['id'], since: '008-rollouts' },
  rollout_steps: { key: ['rollout', 'position'], since: '008-rollouts' },
  mails: { key: ['id'], since: '009-mails' },
  mail_counts: { key: ['organisation', 'asked_by'], since: '015-mail-shares' },
  named_solutions: { key: ['organisation', 'solution'], since: '010-solution-users' },
  solution_users: { key: ['uid'], since: '010-solution-users' },
  solution_user_permissions: { key: ['uid', 'name'], since: '010-solution-users' },
  solution_roles: { key: ['organisation', 'solution', 'name'], since: '010-solution-users' },
  solution_user_roles: { key: ['uid', 'role'], since: '010-solution-users' },
  solution_user_links: { key: ['token_hash'], since: '010-solution-users' },
  login_pages: { key: ['organisation', 'solution', 'number'], since: '011-login-pages' },
  login_page_drafts: { key: ['organisation', 'solution', 'person'], since: '011-login-pages' },
  packages: { key: ['organisation', 'name'], since: '012-packages' },
  package_versions: { key: ['organisation', 'package', 'sha256'], since: '012-packages', bytes: ['bundle'] },
  pipelines: { key: ['id'], since: '013-pipelines' },
  pipeline_runs: { key: ['id'], since: '013-pipelines' },
  pipeline_log: { key: ['run', 'number'], since: '013-pipelines' },
  artifacts: { key: ['id'], since: '013-pipelines', bytes: ['content'] },
  password_links: { key: ['token_hash'], since: '014-password-links' },
  run_leases: { key: ['run'], since: '016-run-leases' },
  run_places: { key: ['place'], since: '016-run-leases' },
} as const satisfies Record<Exclude<keyof CenterTables, keyof Tables>, BackupTable>

/** The telemetry tables, except the word index, which is derived from the log lines. */
export const TELEMETRY_TABLES = {
  telemetry_batches: { key: ['environment', 'hash'], since: '001-telemetry' },
  metric_series: { key: ['id'], since: '001-telemetry', isCounted: true },
  metric_states: { key: ['series', 'instance'], since: '001-telemetry' },
  metric_points: { key: ['series', 'step', 'time', 'bucket'], since: '001-telemetry' },
  log_numbers: { key: ['name'], since: '001-telemetry' },
  log_lines: { key: ['id'], since: '001-telemetry' },
  telemetry_usage: { key: ['environment'], since: '001-telemetry' },
  spans: { key: ['environment', 'trace', 'span'], since: '001-telemetry' },
} as const satisfies Record<keyof TelemetryTables, BackupTable>
