import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import { createGrants } from '../../../host/grants/grants.ts'
import { createOAuthSettings } from '../../../host/oauth/oauth-settings.ts'
import { createSignInPolicies } from '../../../host/second-step/policies.ts'
import { createSecrets } from '../../../host/secrets/secrets.ts'
import { eraseSolutionData } from '../../../host/solutions/erase-solution.ts'

test('erase: the solution’s grants, secrets, policies, permissions and remembered logins are deleted; other solutions keep theirs', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-erase-'))
  const db = await openHostDatabase(home)
  const key = await openPlatformKey(db, home, '')
  const user = { username: 'anna', username_key: 'anna', display_name: null, email: null, password_hash: null }
  const state = { enabled: 1, must_change_password: 0, password_changed_at: null, last_login_at: null, failed_count: 0 }
  await db
    .insertInto('users')
    .values({ uid: 'a', ...user, ...state, created_at: 0 })
    .execute()
  for (const solution of ['crm', 'other']) {
    await createGrants(db, key).put(solution, { databases: {}, http: [], users: true })
    await createSecrets(db, key).put(solution, 'A', 'value', ['a.org'])
    await createOAuthSettings(db).put(solution, { api: 'Google' })
    await createSignInPolicies(db).put(solution, { level: 'off', requiredFor: null, graceDays: 0 })
    await db.insertInto('permissions').values({ uid: 'a', solution, name: 'Users' }).execute()
    const login = { uid: 'a', username: 'anna', permissions: '[]', source: 'users', last_login_at: 0 }
    const hashes = { validator_hash: 'x', previous_hash: null, rotated_at: 0, created_at: 0, ended_at: null }
    await db
      .insertInto('remembered')
      .values({ selector: solution, solution, ...login, ...hashes })
      .execute()
  }
  await eraseSolutionData(db, 'crm')
  for (const table of [
    'grants',
    'secrets',
    'permissions',
    'remembered',
    'oauth_settings',
    'sign_in_policies',
  ] as const) {
    const rows = await db.selectFrom(table).select('solution').execute()
    expect([table, rows]).toEqual([table, [{ solution: 'other' }]])
  }
  await db.destroy()
  rmSync(home, { recursive: true })
})
