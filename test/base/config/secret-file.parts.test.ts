import { execFileSync } from 'node:child_process'
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PROPERTIES } from '../../../base/config/properties.ts'
import type { Property } from '../../../base/config/property.ts'
import { readSecretFile } from '../../../base/config/secret-file.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { temporaryFolder } from '../../support/cli.ts'

const SECRETS = Object.entries(PROPERTIES as Record<string, Property>).flatMap(([name, { secret }]) =>
  secret ? [name] : [],
)

/** @returns the line of the error message about this setting; null if the settings were read */
function faultOf(name: string, file: string): string | null {
  try {
    readSettings({ [`${name}_FILE`]: file })
    return null
  } catch (error) {
    return (error as Error).message.split('\n').find((line) => line.includes(`${name}_FILE`)) ?? null
  }
}

test('secret file: a file is read, even through a link, and surrounding whitespace is removed', () => {
  using folder = temporaryFolder({ secret: '\n a secret \n' })
  symlinkSync(join(folder.path, 'secret'), join(folder.path, 'link'))
  expect(readSecretFile(join(folder.path, 'link'))).toBe('a secret')
})

test.each(SECRETS)('%s_FILE: a pipe without a writer, a device and a folder are rejected immediately', (name) => {
  using folder = temporaryFolder()
  const pipe = join(folder.path, 'pipe')
  execFileSync('mkfifo', [pipe])
  const refused = `  ${name}_FILE names a file that is a folder, a pipe or a device. Write the secret into a regular file.`
  expect([pipe, '/dev/zero', folder.path].map((file) => faultOf(name, file))).toEqual([refused, refused, refused])
})

test('secret file: a file over 64 kB is rejected without reading more', () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'large')
  writeFileSync(file, '')
  // The file is sparse, so it uses no disk space.
  truncateSync(file, 8 * 1024 ** 3)
  expect(faultOf('SERVLET_PASSWORD', file)).toBe(
    '  SERVLET_PASSWORD_FILE names a file that is larger than 64 kB. Use a file that contains only the secret.',
  )
})
