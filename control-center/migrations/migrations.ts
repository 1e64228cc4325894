import type { Migrations } from '../../base/database/migrations.ts'
import { ACCESS_STEPS } from '../access/tables.ts'
import { ACCOUNT_STEPS } from '../accounts/tables.ts'
import { DESIRED_STEPS } from '../desired/tables.ts'
import { ENVIRONMENT_STEPS } from '../environments/tables.ts'
import { LOGIN_PAGE_STEPS } from '../login-pages/tables.ts'
import { MAIL_SHARE_STEPS, MAIL_STEPS } from '../mail/tables.ts'
import { INVITATION_STEPS, ORGANISATION_STEPS, SECOND_FACTOR_STEPS } from '../organisations/tables.ts'
import { PACKAGE_STEPS } from '../packages/tables.ts'
import { PIPELINE_STEPS, RUN_LEASE_STEPS } from '../pipelines/tables.ts'
import { REGISTRY_STEPS } from '../registries/tables.ts'
import { ROLLOUT_STEPS } from '../rollouts/tables.ts'
import { REPORT_HEALTH_STEPS, SATELLITE_STEPS } from '../satellites/tables.ts'
import { SOLUTION_USER_STEPS } from '../solution-users/tables.ts'

/**
 * The control center's own migrations, in addition to the platform's. They are recorded in separate tables, so that the
 * two sets can be numbered independently. The rules in base/database/migrations.ts apply.
 */
export const CENTER_MIGRATIONS: Migrations = {
  versions: {
    '001-organisations': ORGANISATION_STEPS,
    '002-access': ACCESS_STEPS,
    '003-environments': ENVIRONMENT_STEPS,
    '004-invitations': INVITATION_STEPS,
    '005-registries': REGISTRY_STEPS,
    '006-desired': DESIRED_STEPS,
    '007-satellites': SATELLITE_STEPS,
    '008-rollouts': ROLLOUT_STEPS,
    '009-mails': MAIL_STEPS,
    '010-solution-users': SOLUTION_USER_STEPS,
    '011-login-pages': LOGIN_PAGE_STEPS,
    '012-packages': PACKAGE_STEPS,
    '013-pipelines': PIPELINE_STEPS,
    '014-password-links': ACCOUNT_STEPS,
    '015-mail-shares': MAIL_SHARE_STEPS,
    '016-run-leases': RUN_LEASE_STEPS,
    '017-report-health': REPORT_HEALTH_STEPS,
    '018-second-factors': SECOND_FACTOR_STEPS,
  },
  migrationTableName: 'center_migration',
  migrationLockTableName: 'center_migration_lock',
}
