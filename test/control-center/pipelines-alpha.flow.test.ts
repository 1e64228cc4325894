import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import type { CenterDatabase } from '../../control-center/database/tables.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { temporaryFolder } from '../support/cli.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { sharedProperties } from '../support/host-group.ts'
import { makeTestPipeline, uploadPackage } from '../support/pipelines.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { bundleOf } from '../support/zip.ts'

const runsOf = (pipeline: string) => `organisations/acme/pipelines/${pipeline}/runs`

/** Either of the two control centers can start a run, but only one run is active at a time. */
describe.skipIf(postgresPath === undefined)(
  'pipeline runs in two control centers that share a PostgreSQL database',
  () => {
    const folder = temporaryFolder()
    let server: TestServer
    let db: CenterDatabase
    let first: TestCenter
    let second: TestCenter

    beforeAll(async () => {
      server = await sharedPostgres()
      // The builder runs until the file `go-on` exists.
      const builder = join(folder.path, 'builder')
      const wait = `echo "at work"; while [ ! -e ${folder.path}/go-on ]; do sleep 0.05; done; echo "goes on"`
      writeFileSync(builder, `#!/bin/sh\n[ "$1" = build ] || exit 0\n${wait}\n`)
      chmodSync(builder, 0o755)
      const properties = { ...sharedProperties('alpha', server), BUILDER_COMMAND: builder }
      db = await openCenterDatabase(readCenterSettings({ PLATFORM_HOME: folder.path, ...properties }))
      first = await startTestCenter(properties)
      await uploadPackage(first, await bundleOf({ name: 'shop' }))
      for (const name of ['one', 'two', 'three']) {
        await makeTestPipeline(first, { name, package: 'shop', host: 'registry.example.org', baseImage: 'scratch' })
      }
      // The second control center starts while the first one executes a run.
      await start(first, 'one')
      second = await startTestCenter(properties)
    }, SERVER_START)
    afterAll(async () => {
      await second?.stop()
      await first?.stop()
      await db?.destroy()
      await server?.stop()
      folder[Symbol.dispose]()
    })

    async function start(center: TestCenter, pipeline: string): Promise<void> {
      const { status, text } = await center.api('POST', runsOf(pipeline), {})
      expect([status, text]).toEqual([201, expect.any(String)])
    }

    const stateOf = async (center: TestCenter, pipeline: string) =>
      (await center.api('GET', `${runsOf(pipeline)}/1`)).body.state
    const logOf = async (center: TestCenter, pipeline: string) =>
      (await center.api('GET', `${runsOf(pipeline)}/1/log`)).text

    /** Streams the log from its beginning. */
    async function follow(center: TestCenter, pipeline: string) {
      const answer = await fetch(`${center.url}/api/${runsOf(pipeline)}/1/log`, {
        headers: { authorization: `Bearer ${await center.tokenOf('viewer')}`, accept: 'text/event-stream' },
      })
      let text = ''
      const ended = (async () => {
        for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString()
      })()
      return { text: () => text, ended }
    }

    test('a second control center does not disturb a run, can follow its log to the end, and can cancel it', async () => {
      expect(await stateOf(second, 'one')).toBe('running')
      const live = await follow(second, 'one')
      await expect.poll(live.text).toContain('at work')
      expect((await second.api('POST', runsOf('one'), {})).body.code).toBe('ERR_RUN_GOING_ON')
      expect((await second.api('DELETE', 'organisations/acme/pipelines/one')).body.code).toBe('ERR_RUN_GOING_ON')

      // Only one run is active, no matter where it was started.
      await start(second, 'two')
      await expect.poll(() => logOf(first, 'two')).toContain('Another run is in progress')
      expect(await logOf(first, 'two')).not.toContain('is valid')

      // The other control center can cancel a queued run.
      await start(first, 'three')
      const cancelled = await second.api('POST', `${runsOf('three')}/1/cancel`)
      expect([cancelled.status, cancelled.body.state]).toEqual([200, 'cancelled'])
      expect((await second.api('POST', `${runsOf('three')}/1/cancel`)).body.code).toBe('ERR_RUN_ENDED')

      // The other control center can also cancel the active run, which stops the run's builder.
      expect((await second.api('POST', `${runsOf('one')}/1/cancel`)).body.state).toBe('cancelled')
      await live.ended
      expect(live.text()).toContain('The run was cancelled.')
      expect(live.text()).toContain('"state":"cancelled"')

      // Then the other control center starts the next run.
      await expect.poll(() => logOf(first, 'two')).toContain('at work')
      expect(existsSync(join(folder.path, 'go-on'))).toBe(false)
      writeFileSync(join(folder.path, 'go-on'), '')
      await expect.poll(() => logOf(first, 'two')).toContain('goes on')
      await expect.poll(() => stateOf(first, 'two')).not.toBe('running')
    })

    test('a run whose lease is no longer renewed is interrupted by another node', async () => {
      const { id } = await db.selectFrom('pipeline_runs').selectAll().orderBy('started_at').executeTakeFirstOrThrow()
      await db.updateTable('pipeline_runs').set({ state: 'running', ended_at: null }).where('id', '=', id).execute()
      const lease = { run: id, node: 'one that died', until: Date.now() + 3_600_000, cancelled: 0 }
      await db.insertInto('run_leases').values(lease).execute()
      expect(await stateOf(second, 'one')).toBe('running')
      await db
        .updateTable('run_leases')
        .set({ until: Date.now() - 1 })
        .where('run', '=', id)
        .execute()
      await expect.poll(() => stateOf(second, 'one')).toBe('interrupted')
      expect(await db.selectFrom('run_leases').selectAll().execute()).toEqual([])
    })

    test('a process that loses its lease ends its run', async () => {
      await db.deleteFrom('pipeline_runs').execute()
      rmSync(join(folder.path, 'go-on'), { force: true })
      await start(first, 'three')
      await expect.poll(() => db.selectFrom('run_leases').selectAll().execute()).toHaveLength(1)
      await db.deleteFrom('run_leases').execute()
      await expect.poll(() => stateOf(second, 'three')).toBe('interrupted')
      await expect.poll(() => logOf(first, 'three')).toContain('The run was interrupted.')
    })
  },
)
