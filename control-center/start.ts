import type { Exit } from '../host/cli/command.ts'
import { createLog, stopOnSignals, whyNot } from '../host/cli/run-host.ts'
import { printable } from '../host/cli/terminal.ts'
import { version } from '../host/cli/version.ts'
import { readCenterSettings } from './config/settings.ts'
import type { ControlCenter } from './main.ts'

/** What `npm run control-center` runs: settings come from environment properties. Resolves when it has stopped. */
async function start(): Promise<Exit> {
  const stopped = Promise.withResolvers<Exit>()
  try {
    const settings = readCenterSettings(process.env)
    const terminal = process.stdout.isTTY === true
    const log = await createLog(settings.logLevel, terminal)
    const starting = import('./main.ts').then(({ startControlCenter }) =>
      startControlCenter({ settings, log, version, terminal }),
    )
    // A signal that comes while it starts stops it as soon as it has started; a failed start ends by itself.
    stopOnSignals(async () => (await starting).stop(), stopped.resolve)
    process.stdout.write(startMessage(await starting))
  } catch (error) {
    process.stderr.write(`${printable(whyNot(error))}\n`)
    return 'failed'
  }
  return stopped.promise
}

function startMessage({ publicUrl, setUp }: ControlCenter): string {
  const lines = [`The control center runs at ${publicUrl}/`, '']
  if (setUp !== null) {
    const code = 'code' in setUp ? `is shown this once: ${setUp.code}` : `is in ${setUp.file}`
    lines.push(`Nobody has an account yet. Open ${publicUrl}/set-up; the set-up code ${code}`, '')
  }
  if (publicUrl.startsWith('http:')) {
    lines.push('Note: without TLS use it on this machine only: Satellites connect by https, but on loopback.', '')
  }
  return `${[...lines, 'Ctrl+C stops it.'].join('\n')}\n`
}

process.exit((await start()) === 'done' ? 0 : 1)
