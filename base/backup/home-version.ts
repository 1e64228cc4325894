import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'

/** The file in PLATFORM_HOME that contains the version of Solhost that last used the folder. */
const VERSION_FILE = 'version'
/** Maximum length of a version, in characters. Longer content is ignored, because it can't be a version. */
const MAX_LENGTH = 100

/**
 * Call this before anything in the folder changes.
 * @returns the version that last used the folder; null if there was none, or if the file cannot be read
 * @throws ERR_DATABASE_VERSION if that was a newer release. A newer patch version is accepted, because patches don't
 * change the format of the files. The version of the tables is checked separately.
 */
export function checkHomeVersion(home: string, version: string): string | null {
  const last = readVersion(home)
  if (last === null || !isNewerRelease(last, version)) return last
  throw new PlatformError(
    'ERR_DATABASE_VERSION',
    `${home} was last used by Solhost ${last}, but this is Solhost ${version}. Install ${last} or later, or restore a backup ` +
      'from before the upgrade.',
  )
}

/** Call this after startup has migrated everything. @returns a log line if the version changed */
export function noteHomeVersion(home: string, version: string, last: string | null): string | null {
  if (last === version) return null
  writeFileSync(join(home, VERSION_FILE), `${version}\n`, { mode: 0o600 })
  if (last === null) return null
  return `The version changed from ${last} to ${version}. CHANGELOG.md lists the changes.`
}

/** Deletes the version file. A restore calls this, because the backup may be from an older version. */
export function forgetHomeVersion(home: string): void {
  rmSync(join(home, VERSION_FILE), { force: true })
}

function readVersion(home: string): string | null {
  try {
    const text = readFileSync(join(home, VERSION_FILE), 'utf8').trim()
    return text.length > MAX_LENGTH || numbersOf(text) === null ? null : text
  } catch {
    return null
  }
}

function isNewerRelease(last: string, version: string): boolean {
  const [major = 0, minor = 0] = numbersOf(last) ?? []
  const [ownMajor = 0, ownMinor = 0] = numbersOf(version) ?? []
  return major === ownMajor ? minor > ownMinor : major > ownMajor
}

/** @see https://semver.org */
function numbersOf(version: string): readonly number[] | null {
  const match = /^(\d+)\.(\d+)\.(\d+)(?:[-+][\w.+-]+)?$/.exec(version)
  return match === null ? null : match.slice(1, 4).map(Number)
}
