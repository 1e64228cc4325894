import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPasswords } from '../../base/accounts/passwords.ts'
import { createUsers } from '../../base/accounts/users.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import type { CenterDatabase } from '../../control-center/database/tables.ts'
import { createDesiredStates, type DesiredStates } from '../../control-center/desired/desired.ts'
import { createEnvironments } from '../../control-center/environments/environments.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { createOrganisations } from '../../control-center/organisations/organisations.ts'
import { createPackages, type Packages } from '../../control-center/packages/packages.ts'
import { createRollouts, type Rollouts } from '../../control-center/rollouts/rollouts.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { sharedProperties } from '../support/host-group.ts'
import { keepTestVersion } from '../support/packages.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'

const A = 'a'.repeat(64)
const ROUNDS = 15

describe('on the embedded database', () => raceOn(async () => ({ properties: {}, stop: async () => {} })))

describe.skipIf(postgresPath === undefined)('on PostgreSQL', () =>
  raceOn(async () => {
    const server: TestServer = await sharedPostgres()
    return { properties: sharedProperties('alpha', server), stop: () => server.stop() }
  }),
)

/** Tests that delete a version while something starts to reference it: exactly one of the two must succeed. */
function raceOn(start: () => Promise<{ properties: Record<string, string>; stop: () => Promise<void> }>): void {
  const home = mkdtempSync(join(tmpdir(), 'races-test-'))
  let db: CenterDatabase
  let stop: () => Promise<void>
  let organisation: string
  let environment: string
  let packages: Packages
  let desiredStates: DesiredStates
  let rollouts: Rollouts

  beforeAll(async () => {
    const server = await start()
    stop = server.stop
    const settings = readCenterSettings({ PLATFORM_HOME: home, ...server.properties })
    db = await openCenterDatabase(settings)
    const users = createUsers(db, createPasswords(), settings.limits, {
      endAccess: async () => {},
      eraseFromAudit: async () => {},
    })
    const { uid } = await users.create({ username: 'owner', password: 'a long test pass', mustChangePassword: false })
    organisation = (await createOrganisations(db).create({ name: 'acme', title: 'Acme' }, uid)).id
    environment = (await createEnvironments(db).create(organisation, { name: 'one', type: 'onprem' })).id
    const sign = async (state: object) => JSON.stringify(state)
    desiredStates = createDesiredStates(db, { publicKey: '', sign }, () => {})
    rollouts = createRollouts(db)
    const check = () => Promise.reject(new Error('nothing is uploaded here'))
    packages = createPackages(db, { check }, { needRoom: async () => {} })
    packages.heldBy(desiredStates.holder)
    packages.heldBy(rollouts.holder)
  }, SERVER_START)
  afterAll(async () => {
    await db?.destroy()
    await stop?.()
    rmSync(home, { recursive: true })
  })

  /** Deletes the version while `need` runs. @returns null or the error code for each of the two */
  async function race(name: string, need: () => Promise<unknown>): Promise<(string | null)[]> {
    await keepTestVersion(db, organisation, name, A)
    const outcome = (work: Promise<unknown>) =>
      work.then(
        () => null,
        (error: { code?: string }) => error.code ?? String(error),
      )
    const works = [() => packages.removeVersion(organisation, name, A), need]
    const isFirst = Math.random() < 0.5
    const started = (isFirst ? works : works.toReversed()).map((work) => outcome(work()))
    const ended = await Promise.all(started)
    return isFirst ? ended : ended.toReversed()
  }

  test.each([
    {
      what: 'a desired state',
      need: (name: string) => () =>
        desiredStates.change(environment, ({ solutions, settings }) => ({
          solutions: { ...solutions, [name]: { sha256: A, version: '1.0.0' } },
          settings,
        })),
    },
    {
      what: 'a rollout',
      need: (name: string) => () =>
        rollouts.create({
          ...{ organisation, package: name, sha256: A, version: '1.0.0', pace: 'all', patience: 60_000 },
          ...{ createdBy: 'test', environments: [environment] },
        }),
    },
  ])('either a version is deleted or $what refers to it, never both', async ({ what, need }) => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `${what.split(' ').at(-1)}-${round}`
      const [removed, named] = await race(name, need(name))
      const isThere = (await packages.findVersion(organisation, name, A)) !== null
      expect([removed, named, isThere]).toEqual(
        isThere ? ['ERR_VERSION_IN_USE', null, true] : [null, 'ERR_VERSION_NOT_FOUND', false],
      )
    }
  })

  test('a previous state can be restored even if its version was deleted', async () => {
    const gone = { gone: { sha256: A, version: '1.0.0' } }
    const made = await desiredStates.change(environment, ({ settings }) => ({ solutions: gone, settings }), true)
    expect(made.solutions).toEqual(gone)
  })
}
