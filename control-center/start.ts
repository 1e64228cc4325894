import { EXIT_CODES, type Exit } from '../host/cli/command.ts'
import { createLog, stopOnSignals, whyNot } from '../host/cli/run-host.ts'
import { printable } from '../host/cli/terminal.ts'
import { version } from '../host/cli/version.ts'
import { readCenterSettings } from './config/settings.ts'
import type { ControlCenter } from './main.ts'

/** What `npm run control-center` runs: settings come from environment properties. Resolves when it has stopped, or could not start. */
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

/** `npm run control-center -- new-password <e-mail address>` */
async function newPassword(username: string): Promise<Exit> {
  try {
    const { makeNewPassword } = await import('./accounts/new-password.ts')
    const password = await makeNewPassword(readCenterSettings(process.env), username)
    process.stdout.write(
      `The new password of ${printable(username)} is ${password}\nIt has to be changed at the next sign-in.\n`,
    )
    return 'done'
  } catch (error) {
    process.stderr.write(`${printable(whyNot(error))}\n`)
    return 'failed'
  }
}

function usage(): Exit {
  process.stderr.write(
    'Without arguments the control center starts; "new-password <e-mail address>" is its only command.\n',
  )
  return 'usage'
}

const [command, ...given] = process.argv.slice(2)
const [username] = given
const isNewPassword = command === 'new-password' && username !== undefined && given.length === 1
const exit = await (command === undefined ? start() : isNewPassword ? newPassword(username) : usage())
process.exit(EXIT_CODES[exit].code)
