import { join } from 'node:path'
import { developmentOnly } from '../../base/program/development-only.ts'
import { version } from '../../base/program/version.ts'
import { CommandError, command, type Exit } from '../../base/terminal/command.ts'
import { createLog, stopOnSignals, whyNot } from '../../base/terminal/run-service.ts'
import { printable, type Terminal } from '../../base/terminal/terminal.ts'
import type { LiveSolutions, LiveUpdate } from '../../host/live-solutions.ts'
import type { Host } from '../../host/main.ts'
import { DEV_USER, devPassword, openDevHome } from '../dev/dev-home.ts'
import { devSettings } from '../dev/dev-settings.ts'
import { freePort, isFree } from '../dev/free-port.ts'
import { INSPECT_OPTIONS, type InspectOptions, inspectText, readInspect } from '../dev/inspect.ts'
import { createPageReport } from '../dev/page-report.ts'
import { createSaves, type SavesParts } from '../dev/saves.ts'
import { type FolderWatch, watchFolder } from '../dev/watch-folder.ts'
import type { Findings } from '../findings-text.ts'
import { logLineText } from '../log-line-text.ts'
import { readSolutionFolder, type SolutionFolder } from '../solution-folder.ts'

const PORT = 8080
const ADMIN_PORT = 8081

export const devCommand = command({
  summary: 'run a solution during development; open pages update on each save',
  arguments: { folder: { what: 'folder that contains solution.json', default: '.' } },
  options: {
    port: {
      type: 'string',
      value: '<number>',
      what: `port for pages (default: PORT, or ${PORT}, or the next free port)`,
    },
    schedules: { type: 'boolean', what: 'run jobs on their schedules' },
    ...INSPECT_OPTIONS,
  },
  notes:
    () => `This command runs a separate host that only this machine can reach. It stores users, grants, secrets and data in a
separate folder, and prints the path of that folder. It checks each save like an upload. If there are errors, it shows
them and keeps the previous version running. When a page updates, it keeps what users have entered. Login pages do not
update automatically, so reload them yourself. The command reads the same environment variables as "solhost start", but
ignores those for the host's address (except PORT and ADMIN_PORT), identity, storage and telemetry.
`,
  run: ({ arguments: { folder }, options }, terminal) => dev(readSolutionFolder(folder), options, terminal),
})

type DevOptions = InspectOptions & { readonly port?: string; readonly schedules?: boolean }

type Running = { readonly host: Host; readonly live: LiveSolutions; readonly notes: readonly string[] }

/** Resolves when the host has stopped or failed to start. */
async function dev(folder: SolutionFolder, options: DevOptions, terminal: Terminal): Promise<Exit> {
  const stopped = Promise.withResolvers<Exit>()
  const home = openDevHome(folder.path, terminal.environment)
  const starting = startLive(home, options, terminal)
  let watching: FolderWatch | null = null
  async function stop(): Promise<void> {
    watching?.close()
    await (await starting).host.stop()
  }
  // A signal during startup stops the host as soon as it has started. If startup fails, the process exits anyway.
  stopOnSignals(stop, stopped.resolve)
  try {
    const running = await starting
    const saves = createSaves({ shown: folder.path, ...createLiveEnd(home, running, terminal), terminal })
    // Start watching before the first version is uploaded, so that no save during the upload is missed.
    watching = watchFolder(folder.path, {
      changed: (since) => void saves.saved(since),
      gone() {
        terminal.err(
          `The folder "${folder.shown}" was removed, so "solhost dev" is stopping. Restore the folder, then run the command again.\n`,
        )
        void stop()
          .catch(() => {})
          .finally(() => stopped.resolve('failed'))
      },
      failed: ({ message }) => terminal.err(`${printable(message)}\n`),
    })
    await saves.saved(performance.now())
    tellWhere(home, running, terminal)
    terminal.out(await inspectText(running.host))
  } catch (error) {
    // Ignore errors here, because there is nothing to stop if the host did not start.
    await stop().catch(() => {})
    if (error instanceof CommandError) throw error
    throw new CommandError('failed', whyNot(error))
  }
  return stopped.promise
}

async function startLive(home: string, options: DevOptions, { environment }: Terminal): Promise<Running> {
  const { port: given } = options
  const wanted = readPort(given ?? environment.PORT ?? '') ?? PORT
  if (given !== undefined && wanted !== 0 && !(await isFree(wanted))) {
    throw new CommandError(
      'failed',
      `Port ${wanted} is already in use. Stop the process that uses it, or choose another port with --port.`,
    )
  }
  const port = await freePort(wanted)
  const adminPort = await freePort(readPort(environment.ADMIN_PORT ?? '') ?? ADMIN_PORT, (other) => other === port)
  const settings = devSettings(environment, { home, port, adminPort })
  const inspect = await readInspect(options, (other) => other === port || other === adminPort)
  const log = await createLog(settings.logLevel, process.stdout.isTTY === true)
  const { startHost } = await import('../../host/main.ts')
  const host = await startHost({
    settings,
    log,
    version,
    terminal: false,
    isLive: true,
    hasSchedules: options.schedules === true,
    inspect,
  })
  if (host.live === null) throw new TypeError('the host was started without live updates')
  const notes = port === wanted ? [] : [`Port ${wanted} is already in use. Using port ${port} instead.`]
  return { host, live: host.live, notes }
}

/** Parses a port number. @returns null for an empty text. @throws CommandError */
function readPort(text: string): number | null {
  if (text === '') return null
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new CommandError(
    'usage',
    `"${text}" is not a valid port. Use a number from 1 to 65535, or 0 for any free port.`,
  )
}

/** Handles each new version: streams its log, and prints its URL and user if they changed. */
function createLiveEnd(
  home: string,
  { host, live }: Running,
  terminal: Terminal,
): Pick<SavesParts, 'update' | 'onSaving' | 'onActive' | 'onRefused'> {
  let shown: LiveUpdate | null = null
  let unfollow: (() => void) | null = null
  /** The page that was last printed as the one that shows the first version's errors. */
  let told: string | null = null
  const page = createPageReport((report) => {
    if (shown !== null) live.report(shown.name, report)
    // Ignore failures, because the terminal shows the errors anyway.
    else void live.reportFirst(report).catch(() => {})
  })

  async function onActive(update: LiveUpdate): Promise<void> {
    if (shown !== null && shown.name !== update.name) await live.remove(shown.name)
    const isElsewhere = shown?.name !== update.name
    const signsInOtherwise = shown?.mode !== update.mode
    shown = update
    page.active(update.warnings)
    if (isElsewhere) {
      unfollow?.()
      unfollow = live.follow(update.name, (line) => {
        terminal.out(logLineText(line, terminal))
        page.logged(line)
      })
    }
    if (isElsewhere) terminal.out(`${update.name} ${update.version} is running at ${host.addressOf(update.name)}\n`)
    if (update.mode !== 'DEFAULT' && update.mode !== 'LOGIN_FORM') return
    const password = devPassword(home)
    await live.keepUser(DEV_USER, password, update.name)
    if (isElsewhere || signsInOtherwise)
      terminal.out(`Sign in as    ${DEV_USER}, ${await passwordText(password, live)}\n`)
  }

  function onRefused(found: Findings, name: string | null): void {
    page.refused(found)
    const address = name === null ? `${host.url}/` : host.addressOf(name)
    if (shown !== null || address === told) return
    told = address
    terminal.out(`The page at ${address} shows these errors until you fix them:\n`)
  }

  return { update: live.update, onSaving: page.saving, onActive, onRefused }
}

function tellWhere(home: string, { host, notes }: Running, terminal: Terminal): void {
  for (const note of [...notes, ...developmentOnly()]) terminal.out(`${note}\n`)
  terminal.out(`Host          ${host.url}/
Admin pages   ${host.adminUrl}/admin/ (${adminPassword(home, terminal)})
Data folder   ${home}
Open pages update on each save. Reload login pages yourself. Press Ctrl+C to stop.
`)
}

/** A password set by the user takes precedence over the generated one. */
function adminPassword(home: string, { environment }: Terminal): string {
  const isSet = (environment.SERVLET_PASSWORD ?? environment.SERVLET_PASSWORD_FILE ?? '') !== ''
  return isSet ? 'password from SERVLET_PASSWORD' : `password in ${join(home, 'admin-password')}`
}

async function passwordText(password: string, live: LiveSolutions): Promise<string> {
  return (await live.isPassword(DEV_USER, password))
    ? `password ${password}`
    : 'with the password that you set for this user'
}
