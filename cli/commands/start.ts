import { PROPERTIES } from '../../base/config/properties.ts'
import type { Property } from '../../base/config/property.ts'
import { version } from '../../base/program/version.ts'
import { command, type Exit } from '../../base/terminal/command.ts'
import { createLog, stopOnSignals, whyNot } from '../../base/terminal/run-service.ts'
import { printable, type Terminal } from '../../base/terminal/terminal.ts'
import { readSettings } from '../../host/config/settings.ts'

export const startCommand = command({
  summary: 'start a host, configured with environment variables',
  arguments: {},
  options: {},
  notes: () => `Environment variables, with their defaults (docs/reference/settings.md describes them all):
${Object.entries(PROPERTIES as Record<string, Property>)
  .map(([name, { default: text, what }]) => `  ${name.padEnd(24)} ${what}${text === '' ? '' : ` (${text})`}`)
  .join('\n')}
`,
  run: (_given, terminal) => start(terminal),
})

/** Resolves when the host has stopped, or failed to start. */
async function start(terminal: Terminal): Promise<Exit> {
  const stopped = Promise.withResolvers<Exit>()
  try {
    const settings = readSettings(terminal.environment)
    const isTerminal = process.stdout.isTTY === true
    const log = await createLog(settings.logLevel, isTerminal)
    // Install signal handlers before the host is even loaded. In a container, process 1 gets only the signals that it
    // handles.
    const starting = import('../../host/main.ts').then(({ startHost }) =>
      startHost({ settings, log, version, terminal: isTerminal }),
    )
    // A signal during startup stops the host as soon as it has started. If startup fails, the process exits anyway.
    stopOnSignals(async () => (await starting).stop(), stopped.resolve)
    const host = await starting
    const { startMessage } = await import('../../host/start-message.ts')
    terminal.out(await startMessage(host, settings, isTerminal))
  } catch (error) {
    terminal.err(`${printable(whyNot(error))}\n`)
    return 'failed'
  }
  return stopped.promise
}
