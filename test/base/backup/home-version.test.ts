import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkHomeVersion, forgetHomeVersion, noteHomeVersion } from '../../../base/backup/home-version.ts'
import { temporaryFolder } from '../../support/cli.ts'

/** Checks and records the version, as a host of this version does at startup. */
function start(home: string, version: string): string | null {
  return noteHomeVersion(home, version, checkHomeVersion(home, version))
}

test('home version: the first start after an upgrade reports the old and new versions once', () => {
  using folder = temporaryFolder()
  expect(start(folder.path, '0.9.1')).toBeNull()
  expect(start(folder.path, '0.9.1')).toBeNull()
  expect(start(folder.path, '0.10.0')).toBe('The version changed from 0.9.1 to 0.10.0. CHANGELOG.md lists the changes.')
  expect(start(folder.path, '0.10.0')).toBeNull()
  expect(statSync(join(folder.path, 'version')).mode & 0o777).toBe(0o600)
})

test.each([
  ['0.10.0', '0.9.9'],
  ['1.0.0', '0.11.3'],
  ['2.1.0-beta.1', '2.0.7'],
])('home version: after %s wrote the folder, %s does not start and changes nothing', (last, version) => {
  using folder = temporaryFolder()
  start(folder.path, last)
  expect(() => checkHomeVersion(folder.path, version)).toThrow(
    expect.objectContaining({
      code: 'ERR_DATABASE_VERSION',
      message: expect.stringMatching(
        new RegExp(`last used by Solhost ${last}, .*this is Solhost ${version}.*restore a backup`),
      ),
    }),
  )
  expect(readFileSync(join(folder.path, 'version'), 'utf8')).toBe(`${last}\n`)
})

test('home version: after a patch release, an older version that differs only in its last number still starts', () => {
  using folder = temporaryFolder()
  start(folder.path, '0.9.2')
  expect(start(folder.path, '0.9.1')).toContain('from 0.9.2 to 0.9.1')
})

test.each(['', 'newest', '1.2', `1.0.0-${'9'.repeat(200)}\n\u001b[2J`])(
  'home version: a file without a valid version is replaced: %j',
  (text) => {
    using folder = temporaryFolder()
    writeFileSync(join(folder.path, 'version'), text)
    expect(start(folder.path, '0.1.0')).toBeNull()
    expect(readFileSync(join(folder.path, 'version'), 'utf8')).toBe('0.1.0\n')
  },
)

test('home version: after a restore, any version that can read the backup starts', () => {
  using folder = temporaryFolder()
  start(folder.path, '0.10.0')
  forgetHomeVersion(folder.path)
  expect(start(folder.path, '0.9.0')).toBeNull()
})
