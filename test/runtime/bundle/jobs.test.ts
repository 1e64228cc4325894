import { expect, test } from 'vitest'
import { jobsOf } from '../../../base/bundles/job-table.ts'
import { readBundle } from '../../../runtime/bundle/read-bundle.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { bundleOf, moduleFile } from '../../support/zip.ts'

const PLAIN = { function: 'run' }

async function read(jobs: unknown, more: Record<string, unknown> = {}, files: Record<string, string> = {}) {
  return readBundle(await bundleOf({ jobs, ...more }, files as never), createLimits())
}

async function faultsOf(...given: Parameters<typeof read>) {
  const { faults } = await read(...given)
  return faults.map(({ code, file, message }) => `${file} ${code} ${message}`)
}

test('jobs: omitted keys have their defaults', async () => {
  const { bundle } = await read({ mail: PLAIN })
  expect({ ...bundle?.manifest.jobs }).toEqual({
    mail: { function: 'run', schedule: null, timeZone: null, missed: 'once', attempts: 3, atOnce: 1 },
  })
})

test('jobs: all keys are accepted', async () => {
  const all = {
    function: 'run',
    schedule: '30 2 * * *',
    timeZone: 'Europe/Brussels',
    missed: 'skip',
    attempts: 10,
    atOnce: 10,
  }
  expect(await faultsOf({ nightly: all })).toEqual([])
})

test('jobs: values that are not allowed are refused', async () => {
  const refused: readonly [Record<string, unknown>, string][] = [
    [{ function: 'new' }, '"jobs.a.function" must not be a reserved word'],
    [{ ...PLAIN, schedule: '@daily' }, '"jobs.a.schedule" must be five fields'],
    [{ ...PLAIN, schedule: '0 30 2 * * *' }, '"jobs.a.schedule" must be five fields'],
    [{ ...PLAIN, schedule: '61 * * * *' }, 'Invalid value for minute: 61'],
    [{ ...PLAIN, schedule: '0 0 * * *', timeZone: 'Mars/Base' }, '"jobs.a.timeZone" must be the name of a time zone'],
    [{ ...PLAIN, schedule: '0 0 * * *', timeZone: '+01:00' }, '"jobs.a.timeZone" must be the name of a time zone'],
    [{ ...PLAIN, timeZone: 'Etc/UTC' }, '"jobs.a.timeZone" must not be set without "schedule"'],
    [{ ...PLAIN, schedule: '0 0 * * *', missed: 'all' }, '"jobs.a.missed" must be one of once, skip'],
    [{ ...PLAIN, attempts: 11 }, '"jobs.a.attempts" must be a whole number from 1 to 10'],
    [{ ...PLAIN, atOnce: 0 }, '"jobs.a.atOnce" must be a whole number from 1 to 10'],
    [{ ...PLAIN, atonce: 2 }, 'did you mean "atOnce"?'],
  ]
  for (const [job, message] of refused) expect((await faultsOf({ a: job }))[0], JSON.stringify(job)).toContain(message)
  expect((await faultsOf({ '1a': PLAIN }))[0]).toContain('the name "jobs.1a" must be a name of 1 to 64')
  expect((await faultsOf({ toString: PLAIN }))[0]).toContain('must not be the name of a property')
})

test('jobs: a schedule that is never due is an error, reported once', async () => {
  const never = { ...PLAIN, schedule: '0 0 30 2 *' }
  expect(await faultsOf({ a: PLAIN, b: never, c: never })).toEqual([
    'solution.json manifest_invalid "jobs.b.schedule" matches no date, so the job would never run: "0 0 30 2 *"',
  ])
})

test('jobs: a solution and its modules have at most 100', async () => {
  const many = (prefix: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, PLAIN]))
  expect((await faultsOf(many('a', 101)))[0]).toContain('"jobs" must have at most 100 jobs')
  const module = moduleFile('sub', { jobs: many('b', 60) })
  expect((await faultsOf(many('a', 60), { modules: ['sub'] }, module as never))[0]).toContain('have 120 jobs')
})

test('jobs: main overrides modules; in an authenticator, they are an error', async () => {
  const module = moduleFile('sub', { jobs: { mail: { function: 'ofModule' }, other: PLAIN } })
  const { bundle } = await read({ mail: PLAIN }, { modules: ['sub'] }, module as never)
  const listed = bundle === null ? [] : jobsOf(bundle)
  expect(listed.map((job) => [job.name, job.module, job.declaration.function])).toEqual([
    ['mail', null, 'run'],
    ['other', 'sub', 'run'],
  ])
  const authenticator = moduleFile('doors', { type: 'authenticator', jobs: { mail: PLAIN } })
  const [fault] = await faultsOf({}, { authenticator: 'AUTHENTICATOR', modules: ['doors'] }, authenticator as never)
  expect(fault).toContain('modules/doors/solution.json module_invalid "jobs" has no effect in the module "doors"')
})
