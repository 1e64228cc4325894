import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backUpPlatform } from '../../../base/backup/backup.ts'
import { refuseTargetInside } from '../../../base/backup/check-target.ts'
import { PLATFORM } from '../../../base/backup/saved.ts'
import { openDatabase } from '../../../base/database/open.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { temporaryFolder } from '../../support/cli.ts'

/** A PLATFORM_HOME with folders, and with symbolic links into and out of them. */
function homeWithFolders() {
  const folder = temporaryFolder()
  const at = (...names: string[]) => join(folder.path, ...names)
  mkdirSync(at('plugins', 'mine'), { recursive: true })
  mkdirSync(at('databases'))
  mkdirSync(at('plugins-of-old'))
  symlinkSync(at('plugins', 'mine'), at('short'))
  symlinkSync(at('plugins-of-old'), at('plugins', 'away'))
  return { at, home: folder.path, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

test('target: a file in a folder that is backed up is rejected, even if reached through a link', () => {
  using folder = homeWithFolders()
  const { at, home } = folder
  for (const file of [
    at('plugins', 'a.zip'),
    at('plugins', 'mine', 'a.zip'),
    at('databases', 'a.zip'),
    at('short', 'a.zip'),
  ]) {
    expect(() => refuseTargetInside(home, PLATFORM, file)).toThrow(
      expect.objectContaining({
        code: 'ERR_BACKUP_FAILED',
        message: expect.stringContaining('the backup includes that folder'),
      }),
    )
  }
})

test('target: files next to these folders, in a folder with a similar name, or behind a link that leaves them are allowed', () => {
  using folder = homeWithFolders()
  const { at, home } = folder
  for (const file of [
    at('a.zip'),
    at('plugins-of-old', 'a.zip'),
    at('plugins', 'away', 'a.zip'),
    at('none', 'a.zip'),
  ]) {
    expect(() => refuseTargetInside(home, PLATFORM, file)).not.toThrow()
  }
})

test('target: a backup into the plugins folder reports the reason and leaves nothing there', async () => {
  using folder = homeWithFolders()
  const { at, home } = folder
  const settings = readSettings({ PLATFORM_HOME: home })
  await (await openDatabase(settings)).destroy()
  const file = at('plugins', 'a.zip')
  await expect(backUpPlatform({ settings, file, withKey: true, version: 'test' })).rejects.toMatchObject({
    code: 'ERR_BACKUP_FAILED',
    message: `Cannot create ${file} in ${at('plugins')}: the backup includes that folder. Choose a file outside it.`,
  })
  expect(readdirSync(at('plugins')).sort()).toEqual(['away', 'mine'])
})
