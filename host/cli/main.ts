import { nearestKey } from '../../runtime/bundle/nearest-key.ts'
import { type Command, CommandError, EXIT_CODES, type Exit } from './command.ts'
import { backupCommand } from './commands/backup.ts'
import { checkCommand } from './commands/check.ts'
import { deployCommand } from './commands/deploy.ts'
import { devCommand } from './commands/dev.ts'
import { doctorCommand } from './commands/doctor.ts'
import { initCommand } from './commands/init.ts'
import { loginTemplateCommand } from './commands/login-template.ts'
import { logsCommand } from './commands/logs.ts'
import { packCommand } from './commands/pack.ts'
import { restoreCommand } from './commands/restore.ts'
import { startCommand } from './commands/start.ts'
import { testCommand } from './commands/test.ts'
import { typesCommand } from './commands/types.ts'
import { usersAddCommand } from './commands/users/add.ts'
import { usersExportCommand } from './commands/users/export.ts'
import { usersImportCommand } from './commands/users/import.ts'
import { usersListCommand } from './commands/users/list.ts'
import { usersRemoveCommand } from './commands/users/remove.ts'
import { usersSetCommand } from './commands/users/set.ts'
import { helpOf, helpOfAll, helpOfGroup } from './help.ts'
import { readArguments } from './read-arguments.ts'
import { createTerminal, printable, type Terminal } from './terminal.ts'
import { version } from './version.ts'

/** In the order in which somebody meets them. Those of one subject have two words, such as `users add`. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  init: initCommand,
  dev: devCommand,
  check: checkCommand,
  test: testCommand,
  types: typesCommand,
  'login-template': loginTemplateCommand,
  pack: packCommand,
  start: startCommand,
  deploy: deployCommand,
  logs: logsCommand,
  'users list': usersListCommand,
  'users add': usersAddCommand,
  'users set': usersSetCommand,
  'users remove': usersRemoveCommand,
  'users import': usersImportCommand,
  'users export': usersExportCommand,
  backup: backupCommand,
  restore: restoreCommand,
  doctor: doctorCommand,
}

/** Runs one command line, without the program's name, and ends the process with its exit code. */
export async function main(words: readonly string[]): Promise<never> {
  const terminal = createTerminal(process.stdout, process.stderr, process.stdin)
  endWithReader()
  endWithLauncher()
  const exit = await run(words, terminal).catch((error: unknown) => explain(error, terminal))
  process.exit(EXIT_CODES[exit].code)
}

async function run(words: readonly string[], terminal: Terminal): Promise<Exit> {
  const [first = 'help'] = words
  if (first === 'help' || first === '--help' || first === '-h') return help(words.slice(1), terminal)
  if (first === 'version' || first === '--version') {
    terminal.out(`${version}\n`)
    return 'done'
  }
  const { name, rest } = nameIn(words)
  if (isGroup(name) && rest.some((word) => word === '--help' || word === '-h')) return help([name], terminal)
  const command = commandNamed(name)
  const given = readArguments(name, command, rest)
  return given === null ? help([name], terminal) : command.run(given, terminal)
}

function help(words: readonly string[], terminal: Terminal): Exit {
  const { name } = nameIn(words)
  if (words.length === 0) terminal.out(helpOfAll(COMMANDS))
  else if (isGroup(name)) terminal.out(helpOfGroup(name, COMMANDS))
  else terminal.out(helpOf(name, commandNamed(name)))
  return 'done'
}

/** Of a subject with several commands the second word belongs to the name. */
function nameIn(words: readonly string[]): { readonly name: string; readonly rest: readonly string[] } {
  const [first = '', second] = words
  const isOfGroup = isGroup(first) && second !== undefined && !second.startsWith('-')
  return isOfGroup ? { name: `${first} ${second}`, rest: words.slice(2) } : { name: first, rest: words.slice(1) }
}

function isGroup(name: string): boolean {
  return Object.keys(COMMANDS).some((one) => one.startsWith(`${name} `))
}

function commandNamed(name: string): Command {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command !== undefined) return command
  if (isGroup(name))
    throw new CommandError('usage', `solhost ${name}: which command?\n"solhost help ${name}" lists them.`)
  const nearest = nearestKey(name, Object.keys(COMMANDS))
  const meant = nearest === null ? '' : ` Did you mean "${nearest}"?`
  throw new CommandError('usage', `There is no command "${name}".${meant} "solhost help" lists the commands.`)
}

function explain(error: unknown, terminal: Terminal): Exit {
  const isForPeople = error instanceof CommandError
  const text = error instanceof Error && !isForPeople ? (error.stack ?? error.message) : (error as Error).message
  // It may name files of a solution, or quote a host.
  terminal.err(`${printable(text)}\n`)
  return isForPeople ? error.exit : 'failed'
}

/** Whoever reads the output may stop reading, as `head` does: nothing is left to do then. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT_CODES.done.code)
    throw error
  })
}

/** The launcher's channel closes when it dies in whatever way: nothing goes on without it. */
function endWithLauncher(): void {
  const end = () => {
    // A running host has a way of its own to end (commands/start.ts).
    if (process.listenerCount('disconnect') === 1) process.exit(EXIT_CODES.failed.code)
  }
  process.on('disconnect', end)
  if (process.env.SOLHOST_LAUNCHER !== undefined && !process.connected) end()
}
