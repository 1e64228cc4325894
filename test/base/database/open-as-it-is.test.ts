import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PLATFORM_MIGRATIONS } from '../../../base/database/migrations.ts'
import { openDatabase } from '../../../base/database/open.ts'
import { needCurrentDatabase } from '../../../base/database/open-as-it-is.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { temporaryFolder } from '../../support/cli.ts'

const need = (home: string) => needCurrentDatabase(readSettings({ PLATFORM_HOME: home }), [PLATFORM_MIGRATIONS])

test('commands: if PLATFORM_HOME is wrong, nothing is created, and the error names the setting', async () => {
  using folder = temporaryFolder()
  const home = join(folder.path, 'wrong')
  await expect(need(home)).rejects.toMatchObject({
    code: 'ERR_SETTINGS_INVALID',
    message: `The platform database ${home}/platform.sqlite does not exist. Nothing was changed. Set PLATFORM_HOME and PLATFORM_DATABASE to the same values as the running service.`,
  })
  expect(existsSync(home)).toBe(false)
})

test('commands: a database of this version is accepted, and one of an older version is not migrated', async () => {
  using folder = temporaryFolder()
  const [older, current] = [join(folder.path, 'older'), join(folder.path, 'current')]
  const versions = Object.fromEntries(Object.entries(PLATFORM_MIGRATIONS.versions).slice(0, -1))
  await (await openDatabase(older, undefined, [{ ...PLATFORM_MIGRATIONS, versions }])).destroy()
  await (await openDatabase(current)).destroy()
  await need(current)
  for (let time = 0; time < 2; time++) {
    await expect(need(older)).rejects.toMatchObject({
      code: 'ERR_DATABASE_VERSION',
      message: expect.stringContaining('written by an older version'),
    })
  }
})
