import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import pretty from 'pino-pretty'
import { PlatformError } from '../runtime/errors.ts'
import { PROPERTIES, type Property } from './config/properties.ts'
import { readSettings, type Settings } from './config/settings.ts'
import { startHost } from './main.ts'
import { startMessage } from './start-message.ts'

const HELP = `solhost: a host for solutions

  solhost start     start the host; settings come from environment properties
  solhost help      this text
  solhost version   the version

Environment properties (README.md has all of them):
${Object.entries(PROPERTIES as Record<string, Property>)
  .map(([name, { default: text, what }]) => `  ${name.padEnd(22)} ${what}${text === '' ? '' : ` (${text})`}`)
  .join('\n')}

Exit codes: 0 stopped as asked, 1 it could not start, 2 the command is unknown.
`

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

await run(process.argv[2] ?? 'help')

async function run(command: string): Promise<void> {
  if (command === 'start') return start()
  if (command === 'version' || command === '--version') return write(`${version}\n`)
  if (command === 'help' || command === '--help' || command === '-h') return write(HELP)
  process.stderr.write(`There is no command "${command}". "solhost help" lists the commands.\n`)
  process.exitCode = 2
}

async function start(): Promise<void> {
  try {
    const settings = readSettings(process.env)
    const terminal = process.stdout.isTTY === true
    const starting = startHost({ settings, log: createLog(settings, terminal), version, terminal })
    // A signal that comes while it starts stops it as soon as it has started; a failed start ends by itself.
    stopOnSignals(async () => (await starting).stop())
    const host = await starting
    write(await startMessage(host, settings))
  } catch (error) {
    process.stderr.write(`${whyNot(error)}\n`)
    process.exit(1)
  }
}

/** One line per event: JSON for machines, readable on a terminal. */
function createLog(settings: Settings, terminal: boolean) {
  const options = { level: settings.logLevel, base: null }
  return terminal ? pino(options, pretty({ sync: true, translateTime: 'SYS:HH:MM:ss' })) : pino(options)
}

/** Ends on a signal, and with the launcher: its channel closes when it dies in whatever way. */
function stopOnSignals(stop: () => Promise<void>): void {
  let stopping = false
  const end = () => {
    if (stopping) return
    stopping = true
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end)
  process.on('disconnect', end)
  // The launcher gave us a channel; if that is gone already, so is the launcher.
  if (process.env.SOLHOST_LAUNCHER !== undefined && !process.connected) end()
}

function whyNot(error: unknown): string {
  if (error instanceof PlatformError) return error.message
  const { code, port, address } = error as { code?: string; port?: number; address?: string }
  if (code === 'EADDRINUSE') {
    return `Port ${port} of ${address} is in use. Stop what uses it, or set PORT or ADMIN_PORT to another one.`
  }
  if (code === 'EACCES' || code === 'EROFS')
    return `The folder PLATFORM_HOME cannot be written to: ${(error as Error).message}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function write(text: string): void {
  process.stdout.write(text)
}
