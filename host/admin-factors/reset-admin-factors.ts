import { createFactors } from '../../base/accounts/factors.ts'
import { endOpenSignIns } from '../../base/accounts/open-sign-ins.ts'
import { PLATFORM_MIGRATIONS } from '../../base/database/migrations.ts'
import { needCurrentDatabase } from '../../base/database/open-as-it-is.ts'
import { createAudit } from '../access/audit.ts'
import type { Settings } from '../config/settings.ts'
import { openHostDatabase } from '../database/open.ts'
import { ADMIN_FACTORS } from './admin-factors.ts'

/**
 * Removes all factors of the admin account and ends all sessions and open sign-ins of the admin pages. It is called only
 * from the command line, so the operator needs access to the host's machine.
 * @returns whether the account had a factor
 * @throws the errors of `needCurrentDatabase` and `openHostDatabase`
 */
export async function resetAdminFactors(settings: Settings): Promise<boolean> {
  await needCurrentDatabase(settings, [PLATFORM_MIGRATIONS])
  const db = await openHostDatabase(settings)
  try {
    const factors = createFactors(db, settings.limits)
    const hadOne = (await factors.of(ADMIN_FACTORS)).factors.length > 0
    await factors.reset(ADMIN_FACTORS)
    await endOpenSignIns(db, ADMIN_FACTORS)
    await db.deleteFrom('admin_sessions').execute()
    const audit = createAudit(db, settings.limits)
    const facts = { address: 'machine', correlationId: 'solhost-admin-reset-second-factor' }
    await audit.record({ actor: 'machine', action: 'factor-reset', outcome: 'ok', target: 'admin', ...facts })
    await audit.flush()
    return hadOne
  } finally {
    await db.destroy()
  }
}
