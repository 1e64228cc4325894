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
import { eraseExpired, eraseSolutionData } from '../../../host/solutions/erase-solution.ts'
import { createSolutionStore } from '../../../host/solutions/solution-store.ts'
import { createLimits } from '../../../runtime/limits.ts'

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

test('erase: if erasing a deleted solution fails, it is reported, other solutions are erased, and the next attempt erases the rest', async () => {
  await using lab = await openLab()
  for (const solution of ['crm', 'shop', 'young']) {
    await lab.addDeleted(solution, solution === 'young' ? 0 : 8 * DAY)
  }
  const errors: unknown[] = []
  const erased: string[] = []
  let isFileInUse = true
  const parts = {
    store: lab.store,
    solutionLog: { erase: async () => {} },
    jobRuns: { eraseEnded: async () => {} },
    solutionDatabases: {
      async erase(solution: string) {
        if (isFileInUse && solution === 'crm') throw new Error('the file is in use')
        erased.push(solution)
      },
    },
    log: { error: (context: unknown) => void errors.push(context) },
  }
  await eraseExpired(parts)
  expect(errors).toMatchObject([{ solution: 'crm', err: { message: 'the file is in use' } }])
  expect(erased).toEqual(['shop'])
  isFileInUse = false
  await eraseExpired(parts)
  expect(erased).toEqual(['shop', 'crm'])
  expect(await lab.left()).toEqual(['young', 'young'])
})

test('erase: a solution that is uploaded again while its log is erased keeps its data', async () => {
  await using lab = await openLab()
  await lab.addDeleted('crm', 8 * DAY)
  await eraseExpired({
    store: lab.store,
    solutionLog: { erase: async () => void (await lab.store.activate('crm', 'sha')) },
    jobRuns: { eraseEnded: async () => {} },
    solutionDatabases: { erase: () => Promise.reject(new Error('the database of an active solution is erased')) },
    log: { error: (context: unknown) => expect.unreachable(JSON.stringify(context)) },
  })
  expect(await lab.left()).toEqual(['crm', 'crm'])
})

const DAY = 86_400_000

async function openLab() {
  const home = mkdtempSync(join(tmpdir(), 'solhost-erase-'))
  const db = await openHostDatabase(home)
  const now = 1_700_000_000_000
  return {
    store: createSolutionStore(db, createLimits({ DELETED_KEPT: 7 * DAY }), () => now),
    /** Adds a solution that was deleted `ago` ms ago, and a grant. */
    async addDeleted(name: string, ago: number) {
      const row = { name, active_sha256: null, created_at: 0, deleted_at: now - ago }
      await db.insertInto('solutions').values(row).execute()
      await db.insertInto('grants').values({ solution: name, value: '{}' }).execute()
    },
    /** Returns the names of the stored solutions, and of the solutions with grants. */
    async left() {
      const solutions = await db.selectFrom('solutions').select('name').execute()
      const grants = await db.selectFrom('grants').select('solution').execute()
      return [...solutions.map(({ name }) => name), ...grants.map(({ solution }) => solution)]
    },
    async [Symbol.asyncDispose]() {
      await db.destroy()
      rmSync(home, { recursive: true })
    },
  }
}
