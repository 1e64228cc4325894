import { fileURLToPath } from 'node:url'
import { SOLHOST } from '../base/program/program-name.ts'
import { version } from '../base/program/version.ts'
import { type Command, CommandError, EXIT_CODES, type Exit } from '../base/terminal/command.ts'
import { answerLauncher } from '../base/terminal/launcher.ts'
import { createTerminal, printable, type Terminal } from '../base/terminal/terminal.ts'
import { fewTypos, nearestKey } from '../runtime/bundle/nearest-key.ts'
import { helpOf, helpOfAll, helpOfGroup } from './help.ts'
import { readArguments } from './read-arguments.ts'

/**
 * The commands, in the order in which users need them. Commands in a group have two words, such as `users add`. Each
 * command is imported on demand: importing all of them takes longer than most commands take to run.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import('./commands/init.ts')).initCommand,
  dev: async () => (await import('./commands/dev.ts')).devCommand,
  check: async () => (await import('./commands/check.ts')).checkCommand,
  test: async () => (await import('./commands/test.ts')).testCommand,
  types: async () => (await import('./commands/types.ts')).typesCommand,
  'login-template': async () => (await import('./commands/login-template.ts')).loginTemplateCommand,
  openapi: async () => (await import('./commands/openapi.ts')).openapiCommand,
  pack: async () => (await import('./commands/pack.ts')).packCommand,
  start: async () => (await import('./commands/start.ts')).startCommand,
  deploy: async () => (await import('./commands/deploy.ts')).deployCommand,
  pull: async () => (await import('./commands/pull.ts')).pullCommand,
  logs: async () => (await import('./commands/logs.ts')).logsCommand,
  'jobs list': async () => (await import('./commands/jobs/jobs.ts')).jobsListCommand,
  'jobs runs': async () => (await import('./commands/jobs/jobs.ts')).jobsRunsCommand,
  'jobs run': async () => (await import('./commands/jobs/jobs.ts')).jobsRunCommand,
  'jobs again': async () => (await import('./commands/jobs/jobs.ts')).jobsAgainCommand,
  'jobs pause': async () => (await import('./commands/jobs/jobs.ts')).jobsPauseCommand,
  'jobs resume': async () => (await import('./commands/jobs/jobs.ts')).jobsResumeCommand,
  'users list': async () => (await import('./commands/users/list.ts')).usersListCommand,
  'users add': async () => (await import('./commands/users/add.ts')).usersAddCommand,
  'users set': async () => (await import('./commands/users/set.ts')).usersSetCommand,
  'users remove': async () => (await import('./commands/users/remove.ts')).usersRemoveCommand,
  'users import': async () => (await import('./commands/users/import.ts')).usersImportCommand,
  'users export': async () => (await import('./commands/users/export.ts')).usersExportCommand,
  'admin reset-second-factor': async () =>
    (await import('./commands/admin/reset-second-factor.ts')).adminResetSecondFactorCommand,
  backup: async () => (await import('./commands/backup.ts')).backupCommand,
  restore: async () => (await import('./commands/restore.ts')).restoreCommand,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
}

/** All commands, in the order in which help shows them. */
export async function allCommands(): Promise<Readonly<Record<string, Command>>> {
  return Object.fromEntries(
    await Promise.all(Object.entries(COMMANDS).map(async ([name, load]) => [name, await load()] as const)),
  )
}

/** Runs one command line, then exits the process with its exit code. @param words excludes the program's name */
export async function main(words: readonly string[]): Promise<never> {
  const terminal = createTerminal(process.stdout, process.stderr, process.stdin, process.env)
  endWithReader()
  endWithLauncher()
  process.exit(await runCommandLine(words, terminal))
}

/** Runs one command line without exiting the process. @returns the exit code */
export async function runCommandLine(words: readonly string[], terminal: Terminal): Promise<number> {
  const exit = await run(words, terminal).catch((error: unknown) => explain(error, terminal))
  return EXIT_CODES[exit].code
}

/** The folder of the installed package or the clone. */
const ROOT = fileURLToPath(new URL('..', import.meta.url))

async function run(words: readonly string[], terminal: Terminal): Promise<Exit> {
  const [first = 'help'] = words
  if (first === 'help' || first === '--help' || first === '-h') return help(words.slice(1), terminal)
  if (first === 'version' || first === '--version') {
    terminal.out(`${version} (${ROOT}, Node.js ${process.versions.node})\n`)
    return 'done'
  }
  const { name, rest } = nameIn(words)
  if (isGroup(name) && rest.some((word) => word === '--help' || word === '-h')) return help([name], terminal)
  const command = await commandNamed(name)
  const given = readArguments(name, command, rest)
  return given === null ? help([name], terminal) : command.run(given, terminal)
}

async function help(words: readonly string[], terminal: Terminal): Promise<Exit> {
  const { name } = nameIn(words)
  if (words.length === 0) terminal.out(helpOfAll(await allCommands()))
  else if (isGroup(name)) terminal.out(helpOfGroup(name, await allCommands()))
  else terminal.out(helpOf(name, await commandNamed(name)))
  return 'done'
}

/** For a group of commands, the second word is part of the name. */
function nameIn(words: readonly string[]): { readonly name: string; readonly rest: readonly string[] } {
  const [first = '', second] = words
  const isOfGroup = isGroup(first) && second !== undefined && !second.startsWith('-')
  return isOfGroup ? { name: `${first} ${second}`, rest: words.slice(2) } : { name: first, rest: words.slice(1) }
}

function isGroup(name: string): boolean {
  return Object.keys(COMMANDS).some((one) => one.startsWith(`${name} `))
}

async function commandNamed(name: string): Promise<Command> {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (load !== undefined) return load()
  if (isGroup(name))
    throw new CommandError(
      'usage',
      `solhost ${name}: missing command.\nRun "${SOLHOST} help ${name}" for a list of commands.`,
    )
  const nearest = nearestKey(name, namesToCompare(name), fewTypos)
  const meant = nearest === null ? '' : ` Did you mean "${nearest}"?`
  throw new CommandError('usage', `Unknown command "${name}".${meant} Run "${SOLHOST} help" for a list of commands.`)
}

/** Compares one word with the groups too, so that `usrs` finds `users`. */
function namesToCompare(name: string): readonly string[] {
  const names = Object.keys(COMMANDS)
  return name.includes(' ') ? names : [...new Set(names.map((one) => one.split(' ', 1)[0] ?? one))]
}

function explain(error: unknown, terminal: Terminal): Exit {
  const isForPeople = error instanceof CommandError
  const text = error instanceof Error && !isForPeople ? (error.stack ?? error.message) : (error as Error).message
  // Escape control characters, because the text may contain file names from a solution, or quote a host's response.
  terminal.err(`${printable(text)}\n`)
  return isForPeople ? error.exit : 'failed'
}

/** Exits when the reader closes the pipe, as `head` does. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT_CODES.done.code)
    throw error
  })
}

/** Exits when the IPC channel closes, because that means the launcher has exited. */
function endWithLauncher(): void {
  const end = () => {
    // A running host handles its shutdown itself (commands/start.ts).
    if (process.listenerCount('disconnect') === 1) process.exit(EXIT_CODES.failed.code)
  }
  process.on('disconnect', end)
  answerLauncher()
  if (process.env.SOLHOST_LAUNCHER !== undefined && !process.connected) end()
}
