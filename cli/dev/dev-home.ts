import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, isAbsolute, join } from 'node:path'
import { CommandError } from '../../base/terminal/command.ts'
import type { Environment } from '../../base/terminal/terminal.ts'

/**
 * Makes where `dev` keeps users, grants, secrets, sessions and data of a solution, for its owner alone. Chosen here: beside
 * what other programs keep for this account (XDG_STATE_HOME), by the folder's path, so that each folder has its own and all
 * is there again at the next start. Not in the folder: one that somebody else made would bring users and grants along.
 */
export function openDevHome(folder: string, environment: Environment): string {
  const path = realpathSync(folder)
  const name = `${basename(path)}-${createHash('sha256').update(path).digest('hex').slice(0, 12)}`
  const home = join(stateHome(environment), 'solhost', 'dev', name)
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 })
  } catch (error) {
    const why = (error as Error).message
    throw new CommandError(
      'failed',
      `dev keeps its users and data in "${home}", which cannot be made: ${why}\nXDG_STATE_HOME names another place.`,
    )
  }
  return home
}

/** As the XDG Base Directory Specification has it: a path that is not absolute does not count. */
function stateHome({ XDG_STATE_HOME = '' }: Environment): string {
  return isAbsolute(XDG_STATE_HOME) ? XDG_STATE_HOME : join(homedir(), '.local', 'state')
}

/** The user whom `dev` makes for solutions that sign in the platform's own users. */
export const DEV_USER = 'dev'

/** The password of that user, made at the first start and known to nobody else. */
export function devPassword(home: string): string {
  const file = join(home, 'dev-password')
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const password = randomBytes(12).toString('base64url')
  writeFileSync(file, `${password}\n`, { mode: 0o600 })
  return password
}
