import { randomLetters } from '../base/program/random-text.ts'
import { CommandError } from '../base/terminal/command.ts'
import type { Terminal } from '../base/terminal/terminal.ts'
import { askSecret } from './prompt.ts'

const PROPERTY = 'SOLHOST_NEW_PASSWORD'
/** Letters and digits, without those that are easily confused when read aloud or copied by hand. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'
const GROUPS = 4
const GROUP = 5

/** Options of commands that set a user's password. */
export const PASSWORD_OPTION = {
  'ask-password': {
    type: 'boolean',
    what: `set the password at a prompt or with ${PROPERTY}; by default, it is generated`,
  },
} as const

/** Generates a password of 100 random bits, in groups of characters that are easy to type. */
export function makePassword(): string {
  return Array.from({ length: GROUPS }, () => randomLetters(GROUP, LETTERS)).join('-')
}

/**
 * Returns the password in SOLHOST_NEW_PASSWORD, or prompts for one.
 * @throws CommandError if there is no terminal to prompt on, or if the two entries differ
 */
export async function askNewPassword(username: string, terminal: Terminal): Promise<string> {
  const given = terminal.environment[PROPERTY]
  if (given !== undefined && given !== '') return given
  if (!terminal.isInteractive) {
    throw new CommandError('usage', `${PROPERTY} is not set, and there is no terminal for a prompt. Set ${PROPERTY}.`)
  }
  const first = await askSecret(`New password for ${username}: `)
  if (first === (await askSecret('Repeat the password: '))) return first
  throw new CommandError('failed', 'The passwords do not match. Nothing was changed. Try again.')
}
