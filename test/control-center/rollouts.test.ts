import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createPasswords } from '../../base/accounts/passwords.ts'
import { createUsers } from '../../base/accounts/users.ts'
import { createAudit } from '../../control-center/access/audit.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import type { CenterDatabase } from '../../control-center/database/tables.ts'
import { createDesiredStates, type DesiredStates } from '../../control-center/desired/desired.ts'
import { createEnvironments } from '../../control-center/environments/environments.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { createOrganisations } from '../../control-center/organisations/organisations.ts'
import { createRollouts, type Rollout, type Rollouts } from '../../control-center/rollouts/rollouts.ts'
import { createRolloutRunner } from '../../control-center/rollouts/runner.ts'
import type { NodeReport } from '../../control-center/satellites/reports.ts'
import { keepTestVersion } from '../support/packages.ts'

const [A, B] = ['a'.repeat(64), 'b'.repeat(64)]
const home = mkdtempSync(join(tmpdir(), 'rollouts-test-'))
let db: CenterDatabase
let organisation: string
let desiredStates: DesiredStates
let rollouts: Rollouts
let places: { id: string; name: string }[]
/** The reports of nodes, by environment id. */
let said: Map<string, NodeReport[]>
const clock = { time: 1_000_000 }
beforeAll(async () => {
  const settings = readCenterSettings({ PLATFORM_HOME: home })
  db = await openCenterDatabase(settings)
  const users = createUsers(db, createPasswords(), settings.limits, {
    endAccess: async () => {},
    eraseFromAudit: async () => {},
  })
  const { uid } = await users.create({ username: 'owner', password: 'a long test password', mustChangePassword: false })
  organisation = (await createOrganisations(db).create({ name: 'acme', title: 'Acme' }, uid)).id
  for (const name of ['crm', 'shop', 'one', 'two', 'three', 'four', 'five']) {
    for (const sha256 of [A, B]) await keepTestVersion(db, organisation, name, sha256)
  }
  const sign = async (state: object) => JSON.stringify(state)
  desiredStates = createDesiredStates(
    db,
    { publicKey: '', sign },
    () => {},
    () => clock.time,
  )
  rollouts = createRollouts(db, () => clock.time)
})
beforeEach(async () => {
  const environments = createEnvironments(db)
  const names = ['one', 'two', 'three'].map((name) => `${name}-${randomUUID().slice(0, 8)}`)
  places = await Promise.all(names.map((name) => environments.create(organisation, { name, type: 'onprem' })))
  said = new Map()
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

async function start(more: Partial<Parameters<Rollouts['create']>[0]> = {}): Promise<Rollout> {
  const wanted = {
    organisation,
    package: 'crm',
    sha256: B,
    version: '2.0.0',
    pace: 'one-by-one',
    patience: 60_000,
  } as const
  return rollouts.create({ ...wanted, createdBy: 'test', environments: places.map(({ id }) => id), ...more })
}

/** Starts a rollout runner that checks all rollouts once, then stops it. */
async function look(states: DesiredStates = desiredStates): Promise<void> {
  const runner = createRolloutRunner(
    {
      rollouts,
      desiredStates: states,
      reports: { live: async (environment) => said.get(environment) ?? [] },
      audit: createAudit(db, 1000),
      log: { error: (of: unknown) => expect(of).toBeUndefined() },
    },
    () => clock.time,
  )
  runner.wake()
  await runner.stop()
}

/** Reports the desired state as applied for the environment; `more` overrides parts of the report. */
async function answer(place: number, more: Partial<NodeReport> = {}, node = 'node'): Promise<void> {
  const environment = places[place]?.id ?? ''
  const { number, solutions } = await desiredStates.get(environment)
  const results = Object.entries(solutions).map(([name, { sha256 }]) => ({ name, sha256, outcome: 'active' as const }))
  const report: NodeReport = {
    node,
    version: 'test',
    number,
    outcome: 'applied',
    results,
    solutions: [],
    health: 'good',
    findings: [],
    seenAt: clock.time,
    ...more,
  }
  said.set(environment, [...(said.get(environment) ?? []).filter((one) => one.node !== node), report])
}

async function states({ id }: Rollout): Promise<string> {
  const { state, steps } = await rollouts.need(organisation, id)
  return [state, ...steps.map((step) => step.state)].join(' ')
}

test('rollouts: each environment waits for the previous one', async () => {
  const rollout = await start()
  const seen: string[] = []
  for (const place of places.keys()) {
    await look()
    seen.push(await states(rollout))
    await answer(place)
    await look()
  }
  await look()
  seen.push(await states(rollout))
  expect(seen).toEqual([
    'running running waiting waiting',
    'running done running waiting',
    'running done done running',
    'done done done done',
  ])
})

test('rollouts: at the pace "all", every environment starts immediately, and a failure halts the rollout only when all have finished', async () => {
  const rollout = await start({ pace: 'all' })
  await look()
  expect(await states(rollout)).toBe('running running running running')
  await answer(0, { results: [{ name: 'crm', sha256: B, outcome: 'failed', message: 'no' }] })
  await look()
  expect(await states(rollout)).toBe('running failed running running')
  await answer(1)
  await answer(2)
  await look()
  await look()
  expect(await states(rollout)).toBe('halted failed done done')
})

test('rollouts: an environment is done when all of its nodes are done', async () => {
  const rollout = await start()
  await answer(0, { number: 0, results: [] }, 'slow')
  await look()
  await answer(0, {}, 'fast')
  await look()
  expect(await states(rollout)).toBe('running running waiting waiting')
  await answer(0, {}, 'slow')
  await look()
  expect(await states(rollout)).toBe('running done running waiting')
})

test('rollouts: if a Satellite does not finish in time, its environment fails with the last reported reason; later ones are not changed', async () => {
  const rollout = await start()
  await answer(0, { number: 0, results: [], reason: '"crm": Too many uploads are checked.' })
  await look()
  clock.time += 60_000
  await look()
  expect(await states(rollout)).toBe('running running waiting waiting')
  // A new runner doesn't count time that passed before it started.
  const runner = createRolloutRunner(
    {
      rollouts,
      desiredStates,
      reports: { live: async (environment) => said.get(environment) ?? [] },
      audit: createAudit(db, 1000),
      log: { error: () => {} },
    },
    () => clock.time,
  )
  clock.time += 60_001
  runner.wake()
  await runner.stop()
  await look()
  expect(await states(rollout)).toBe('halted failed waiting waiting')
  const { steps } = await rollouts.need(organisation, rollout.id)
  expect(steps[0]?.failure).toEqual({ code: 'silent', message: '"crm": Too many uploads are checked.', faults: [] })
  expect((await desiredStates.get(places[1]?.id ?? '')).number).toBe(0)
})

test('rollouts: if the version cannot be requested, the environment fails with the reason', async () => {
  const names = Array.from({ length: 200 }, (_, n) => [`s${n}`, { sha256: A, version: '1.0.0' }])
  const content = JSON.stringify({ solutions: Object.fromEntries(names), settings: {} })
  const row = { environment: places[0]?.id ?? '', number: 1, issued_at: clock.time, content, statement: '' }
  await db.insertInto('desired_states').values(row).execute()
  const rollout = await start()
  await look()
  await look()
  expect(await states(rollout)).toBe('halted failed waiting waiting')
  const { steps } = await rollouts.need(organisation, rollout.id)
  expect(steps[0]?.failure).toEqual({
    code: 'unasked',
    message: 'solutions: must have at most 200 solutions',
    faults: [],
  })
})

test('rollouts: if a control center crashes before it sends a desired state, it sends it after the restart', async () => {
  const rollout = await start()
  await rollouts.changeStep(rollout.id, 0, ['waiting'], {
    state: 'running',
    before: { desired: null },
    startedAt: clock.time,
  })
  await look()
  expect((await desiredStates.get(places[0]?.id ?? '')).solutions).toEqual({ crm: { sha256: B, version: '2.0.0' } })
  await answer(0)
  await look()
  expect(await states(rollout)).toBe('running done running waiting')
})

test('rollouts: if all of its environments are deleted, a rollout is cancelled', async () => {
  const rollout = await start()
  await look()
  const environments = createEnvironments(db)
  for (const { name } of places) await environments.remove(organisation, name)
  await look()
  expect(await states(rollout)).toBe('cancelled')
})

test('rollouts: a rollback restores exactly the previous state, with a higher number', async () => {
  const environment = places[0]?.id ?? ''
  const before = await desiredStates.change(environment, () => ({
    solutions: { crm: { sha256: A, version: '1.0.0' }, shop: { sha256: A, version: '7.0.0' } },
    settings: { logLevel: 'warn' },
  }))
  const rollout = await start()
  await look()
  await answer(0)
  await look()
  await rollouts.move(rollout.id, ['running'], 'rolling-back')
  await look()
  const { number, solutions, settings } = await desiredStates.get(environment)
  expect({ solutions, settings }).toEqual({ solutions: before.solutions, settings: before.settings })
  expect(number).toBeGreaterThan(before.number)
  await answer(0)
  await answer(1)
  await look()
  expect(await states(rollout)).toBe('rolled-back undone undone left')
})

test('rollouts: if another control center rolls a step back before the version is requested, the version is not requested', async () => {
  const rollout = await start({ environments: [places[0]?.id ?? ''] })
  const slow: DesiredStates = {
    ...desiredStates,
    async change(...given) {
      await rollouts.move(rollout.id, ['running'], 'rolling-back')
      await look()
      return desiredStates.change(...given)
    },
  }
  await look(slow)
  expect((await desiredStates.get(places[0]?.id ?? '')).solutions).toEqual({})
  await answer(0)
  await look()
  expect(await states(rollout)).toBe('rolled-back undone')
})

test('rollouts: if there was no desired state before, a rollback restores what the Satellite reported', async () => {
  await answer(0, { solutions: [{ name: 'crm', sha256: A, version: '1.0.0' }] })
  const rollout = await start({ environments: [places[0]?.id ?? ''] })
  await look()
  await rollouts.move(rollout.id, ['running'], 'rolling-back')
  await look()
  expect((await desiredStates.get(places[0]?.id ?? '')).solutions).toEqual({ crm: { sha256: A, version: '1.0.0' } })
})

test('rollouts: a rollback keeps changes that were made in the meantime', async () => {
  const rollout = await start({ environments: [places[0]?.id ?? ''] })
  await look()
  const others = { crm: { sha256: A, version: '9.0.0' } }
  await desiredStates.change(places[0]?.id ?? '', ({ settings }) => ({ solutions: others, settings }))
  await rollouts.move(rollout.id, ['running'], 'rolling-back')
  await look()
  expect((await desiredStates.get(places[0]?.id ?? '')).solutions).toEqual(others)
  expect(await states(rollout)).toBe('rolled-back not-undone')
})

test('rollouts: if two rollouts target the same environment and package, only one starts', async () => {
  await start()
  await expect(start({ environments: [places[2]?.id ?? ''] })).rejects.toMatchObject({ code: 'ERR_ROLLOUT_RUNNING' })
  await start({ package: 'shop', environments: [places[2]?.id ?? ''] })
})

test('desired states: no simultaneous change is lost, and each gets a different number', async () => {
  const environment = places[0]?.id ?? ''
  const names = ['one', 'two', 'three', 'four', 'five']
  const made = await Promise.all(
    names.map((name) =>
      desiredStates.change(environment, ({ solutions, settings }) => ({
        solutions: { ...solutions, [name]: { sha256: A, version: '1.0.0' } },
        settings,
      })),
    ),
  )
  expect(new Set(made.map(({ number }) => number)).size).toBe(names.length)
  expect(Object.keys((await desiredStates.get(environment)).solutions).sort()).toEqual([...names].sort())
})
