import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmbeddedDatabase } from '../../host/solution-databases/embedded-database.ts'
import { createLimits } from '../../runtime/limits.ts'
import { startCli, temporaryFolder } from '../support/cli.ts'
import { startTestHost } from '../support/host.ts'
import { bundleOf } from '../support/zip.ts'

const disk = temporaryFolder()
/** Whether the disk could be mounted. Many machines don't grant the required privileges. */
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk.path]).status === 0

function fill(): void {
  const file = join(disk.path, 'fill')
  for (let size = 1024 ** 2; size >= 1; size = Math.floor(size / 4)) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' })
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC')
    }
  }
}

afterAll(() => {
  if (mounted) spawnSync('umount', [disk.path])
  disk[Symbol.dispose]()
})

describe.skipIf(!mounted)('with a disk that can be filled', () => {
  beforeAll(() => expect(existsSync(disk.path)).toBe(true))

  test('full disk: an upload gets 507 and says what to do, the old version keeps running, and uploading works once there is space', async () => {
    const home = join(disk.path, 'home')
    mkdirSync(home)
    const host = await startTestHost({}, { home })
    const bundle = (content: Uint8Array | string) => bundleOf({ authenticator: 'NONE' }, { 'media/a.bin': content })
    try {
      expect((await host.upload('crm', await bundle('first'))).status).toBe(201)
      fill()
      const next = await bundle(randomBytes(3 * 1024 ** 2))
      const refused = await host.upload('crm', next)
      expect(refused.status).toBe(507)
      expect(await refused.json()).toMatchObject({
        code: 'ERR_DISK_FULL',
        detail: expect.stringMatching(/no space left on the disk.*Free some space/),
      })
      expect(await (await fetch(`${host.url}/solution/crm/media/a.bin`)).text()).toBe('first')
      rmSync(join(disk.path, 'fill'))
      expect((await host.upload('crm', next)).status).toBe(201)
    } finally {
      await host.stop()
      rmSync(home, { recursive: true })
    }
  })

  test('full disk: a write to an embedded database fails, the operator learns why, and it works once there is space', async () => {
    const errors: string[] = []
    const file = join(disk.path, 'orders.sqlite')
    const onError = (message: string) => void errors.push(message)
    const database = createEmbeddedDatabase({ file, limits: createLimits(), timeZone: 'Etc/UTC', onError })
    const insert = () => database.query('INSERT INTO orders VALUES (?)', ['x'.repeat(200_000)])
    try {
      await database.query('CREATE TABLE orders (content TEXT)', [])
      fill()
      await expect(insert()).rejects.toThrow(/^the host’s disk is full.* ask the operator to free some space$/)
      expect(errors).toEqual([expect.stringMatching(/no space left on the disk for .*orders\.sqlite; free some space/)])
      rmSync(join(disk.path, 'fill'))
      await insert()
      const rows = await database.query('SELECT count(*) AS orders FROM orders', [])
      expect({ ...rows[0] }).toEqual({ orders: 1 })
    } finally {
      await database.kill()
    }
  })

  test('full disk: the host does not start, and reports the reason in one line', async () => {
    fill()
    const env = { PORT: '0', ADMIN_PORT: '0', ENVIRONMENT: 'prod', PLATFORM_HOME: join(disk.path, 'other') }
    using cwd = temporaryFolder()
    const { ended, err } = startCli(['start'], { cwd: cwd.path, env })
    expect(await ended).toBe(1)
    expect(err()).toMatch(/^There is no space left on the disk for .*\. Free some space .*\.\n$/)
    rmSync(join(disk.path, 'fill'))
  })
})
