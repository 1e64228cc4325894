import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, isAbsolute, join } from 'node:path'
import { CommandError } from '../../base/terminal/command.ts'
import type { Environment } from '../../base/terminal/terminal.ts'

/**
 * Creates the folder where `dev` stores a solution's users, grants, secrets, sessions and data. Only its owner can read
 * it. Chosen here: it is in the account's state folder (XDG_STATE_HOME), and its name is derived from the path of the
 * solution's folder. So each solution has separate data, which survives a restart. It is not in the solution's folder,
 * because a folder from someone else could then contain users and grants.
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
      `Cannot create the data folder "${home}": ${why}\nSet XDG_STATE_HOME to another folder.`,
    )
  }
  return home
}

/** Ignore a relative path, as the XDG Base Directory Specification requires. */
function stateHome({ XDG_STATE_HOME = '' }: Environment): string {
  return isAbsolute(XDG_STATE_HOME) ? XDG_STATE_HOME : join(homedir(), '.local', 'state')
}

/** The user that `dev` creates for solutions that use the platform's users table. */
export const DEV_USER = 'dev'

/** That user's password, generated when `dev` first runs, and stored only in this file. */
export function devPassword(home: string): string {
  const file = join(home, 'dev-password')
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const password = randomBytes(12).toString('base64url')
  writeFileSync(file, `${password}\n`, { mode: 0o600 })
  return password
}
