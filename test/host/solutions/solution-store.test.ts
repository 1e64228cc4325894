import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PreparedSolution } from '../../../base/bundles/prepared-solution.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createSolutionStore } from '../../../host/solutions/solution-store.ts'
import type { Bundle } from '../../../runtime/bundle/bundle.ts'
import { manifestOf } from '../../support/solutions.ts'

let home: string
let db: HostDatabase
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-store-'))
  db = await openHostDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

function bundleWith(sha256: string, version: string): Bundle {
  const media = new Map([['logo.txt', Buffer.from(version)]])
  return { manifest: manifestOf({ version }), sha256, media } as unknown as Bundle
}

test('when two hosts receive the same bundle at the same time, it is stored once and active', async () => {
  const { limits } = readSettings({})
  const [here, there] = [createSolutionStore(db, limits), createSolutionStore(db, limits)]
  const older = bundleWith('one', '1.0.0')
  const bundle = bundleWith('two', '2.0.0')
  const { name } = bundle.manifest
  const prepared = {} as PreparedSolution
  await here.add(bundle, new Uint8Array([1]), prepared)
  await here.add(older, new Uint8Array([1]), prepared)
  await there.add(bundle, new Uint8Array([1]), prepared)
  expect(await here.activeSha256(name)).toBe('two')
  expect((await here.versions(name)).map(({ version }) => version).sort()).toEqual(['1.0.0', '2.0.0'])
  const pieces = await Array.fromAsync(here.mediaContent(name, 'two', 'logo.txt', 5))
  expect(Buffer.concat(pieces).toString()).toBe('2.0.0')
})
