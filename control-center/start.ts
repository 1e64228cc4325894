import { keepHttpLean } from '../base/program/lean-http.ts'
import { version } from '../base/program/version.ts'
import { EXIT_CODES, type Exit } from '../base/terminal/command.ts'
import { answerLauncher } from '../base/terminal/launcher.ts'
import { createLog, stopOnSignals, whyNot } from '../base/terminal/run-service.ts'
import { createTerminal, printable } from '../base/terminal/terminal.ts'
import { readCenterSettings } from './config/settings.ts'
import type { ControlCenter } from './main.ts'

/**
 * Runs the service (`npm run control-center`) with settings from environment variables. Resolves when it has stopped or
 * failed to start.
 */
async function start(): Promise<Exit> {
  const stopped = Promise.withResolvers<Exit>()
  try {
    const settings = readCenterSettings(process.env)
    const terminal = process.stdout.isTTY === true
    const log = await createLog(settings.logLevel, terminal)
    const starting = import('./main.ts').then(({ startControlCenter }) =>
      startControlCenter({ settings, log, version, terminal }),
    )
    // If a signal arrives during startup, the service stops as soon as it has started. If startup fails, the process
    // exits, so there is nothing to stop.
    stopOnSignals(async () => (await starting).stop(), stopped.resolve)
    process.stdout.write(startMessage(await starting))
  } catch (error) {
    process.stderr.write(`${printable(whyNot(error))}\n`)
    return 'failed'
  }
  return stopped.promise
}

function startMessage({ publicUrl, setUp }: ControlCenter): string {
  const lines = [`The control center is running at ${publicUrl}/`, '']
  if (setUp !== null) {
    const code = 'code' in setUp ? `is shown only once: ${setUp.code}` : `is in ${setUp.file}`
    lines.push(`Next: create the first account at ${publicUrl}/set-up. The set-up code ${code}`, '')
  }
  if (publicUrl.startsWith('http:')) {
    lines.push(
      'Note: this URL has no TLS, so use it only on this machine. Satellites on other machines need an https URL.',
      '',
    )
  }
  return `${[...lines, 'Press Ctrl+C to stop it.'].join('\n')}\n`
}

/**
 * Runs the command `new-password <email address>`.
 * @returns null if the arguments are invalid
 */
async function newPassword(words: readonly string[]): Promise<Exit | null> {
  const [username] = words
  if (username === undefined || words.length > 1) return null
  try {
    const { makeNewPassword } = await import('./new-password.ts')
    const password = await makeNewPassword(readCenterSettings(process.env), username)
    process.stdout.write(
      `The new password for ${printable(username)} is ${password}\nThe owner of the account must change it at the next sign-in.\n`,
    )
    return 'done'
  } catch (error) {
    process.stderr.write(`${printable(whyNot(error))}\n`)
    return 'failed'
  }
}

/**
 * Runs the command `reset-second-factor <email address>`.
 * @returns null if the arguments are invalid
 */
async function resetSecondFactor(words: readonly string[]): Promise<Exit | null> {
  const [username] = words
  if (username === undefined || words.length > 1) return null
  try {
    const { resetSecondFactor: reset } = await import('./reset-second-factor.ts')
    const settings = readCenterSettings(process.env)
    const log = await createLog(settings.logLevel, process.stdout.isTTY === true)
    const hadOne = await reset(settings, username, log)
    process.stdout.write(
      hadOne
        ? `Removed the second factor of ${printable(username)}, and signed the account out.\nNext: the owner signs in with the password and sets up a new factor on the page “Your account”.\n`
        : `${printable(username)} has no second factor. Nothing was changed.\n`,
    )
    return 'done'
  } catch (error) {
    process.stderr.write(`${printable(whyNot(error))}\n`)
    return 'failed'
  }
}

type Command = (words: readonly string[]) => Promise<Exit | null>

const backups = () => import('./backup/commands.ts')
const terminal = createTerminal(process.stdout, process.stderr, process.stdin, process.env)

const COMMANDS: Readonly<Record<string, Command>> = {
  'new-password': newPassword,
  'reset-second-factor': resetSecondFactor,
  backup: async (words) => (await backups()).runBackup(words, terminal),
  restore: async (words) => (await backups()).runRestore(words, terminal),
}

const USAGE = `Without a command, this program starts the control center. Commands use the same environment variables:

  new-password <email address>    set a new password for an account
  reset-second-factor <email address>
                                  remove an account’s second factor, for example if its owner lost it
  backup <file> [--without-key] [--without-telemetry]
                                  back up everything to a new file; the control center can keep running
  restore <file>                  restore a backup into an empty folder and an empty database
`

/** @param problem what is wrong with the arguments */
function usage(problem: string): Exit {
  process.stderr.write(`${printable(problem)}\n\n${USAGE}`)
  return 'usage'
}

async function run(name: string, words: readonly string[]): Promise<Exit> {
  if (name === 'help' || name === '--help') {
    process.stdout.write(USAGE)
    return 'done'
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) return usage(`There is no command "${name}".`)
  return (await command(words)) ?? usage(`The arguments of "${name}" are invalid.`)
}

answerLauncher()
keepHttpLean()
const [name, ...words] = process.argv.slice(2)
const exit = name === undefined ? await start() : await run(name, words)
process.exit(EXIT_CODES[exit].code)
