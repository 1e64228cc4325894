import { constants, existsSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { isLoopback } from '../../base/config/host-names.ts'
import { counted } from '../../base/program/counted.ts'
import { SOLHOST } from '../../base/program/program-name.ts'
import { command, JSON_OPTION } from '../../base/terminal/command.ts'
import { type Environment, jsonText, printable, type Terminal } from '../../base/terminal/terminal.ts'
import { readCertificate } from '../../base/tls/certificate.ts'
import { namesNotCovered, publicNames, sayProblem, stateOfCertificate } from '../../base/tls/expiry.ts'
import { fits } from '../../bin/find-node.js'
import { readSettings, type Settings } from '../../host/config/settings.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createLimits } from '../../runtime/limits.ts'
import { platformOf } from '../../runtime/platforms.js'
import { isSolhost } from '../host-api.ts'
import { listenOnce } from '../listen-once.ts'
import { memoryFinding } from '../memory-finding.ts'

/** The result of one check; `advice` explains how to fix a problem. */
type Finding = { readonly ok: boolean; readonly what: string; readonly found: string; readonly advice?: string }

type Check = (settings: Settings) => Promise<Omit<Finding, 'what'>>

export const doctorCommand = command({
  summary: 'check whether a host can start on this machine: Node.js, settings, ports, disk, memory, database, clock',
  arguments: {},
  options: JSON_OPTION,
  notes:
    () => `This command reads the same environment variables as "solhost start". It doesn't start the host or change anything.
`,
  async run({ options: { json = false } }, terminal) {
    const findings: Finding[] = []
    const note = (finding: Finding) => {
      findings.push(finding)
      if (!json) terminal.out(line(finding, terminal))
    }
    note({ what: 'Node.js', ...checkNode() })
    const settings = settingsFrom(terminal.environment)
    if ('faults' in settings) {
      for (const fault of settings.faults) note({ what: 'settings', ok: false, found: fault, advice: SETTINGS_ADVICE })
    } else {
      note({ what: 'settings', ok: true, found: 'all values are valid' })
      const checks = {
        ...CHECKS,
        ...(settings.telemetry.scraping === null ? {} : METRICS_CHECKS),
        ...(settings.certificate === null ? {} : TLS_CHECKS),
      }
      for (const [what, check] of Object.entries(checks)) note({ what, ...(await check(settings).catch(unexpected)) })
    }
    const faults = findings.filter(({ ok }) => !ok).length
    if (json) terminal.out(jsonText({ ok: faults === 0, findings }))
    else if (faults === 0) terminal.out(`\nNo problems found. Next: ${SOLHOST} start\n`)
    else
      terminal.out(
        `\n${counted(faults, 'problem')} found. Next: follow the advice after "→", then run ${SOLHOST} doctor\n`,
      )
    return faults === 0 ? 'done' : 'failed'
  },
})

const SETTINGS_ADVICE = 'Correct the environment variable. All variables are listed in docs/reference/settings.md.'

/** The property for the address that a port is opened on, if it is not HOST. */
const ADDRESS_PROPERTIES: Readonly<Record<string, string>> = { ADMIN_PORT: 'ADMIN_HOST', METRICS_PORT: 'METRICS_HOST' }

const CHECKS: Readonly<Record<string, Check>> = {
  'sandbox process': checkSandbox,
  'pages port': ({ host, port, certificate }) => checkPort('PORT', host, port, certificate !== null),
  'admin pages port': ({ adminHost, adminPort, certificate }) =>
    checkPort('ADMIN_PORT', adminHost, adminPort, certificate !== null && !isLoopback(adminHost)),
  'PLATFORM_HOME folder': checkHome,
  'disk space': checkSpace,
  memory: checkMemory,
  database: checkDatabase,
  clock: checkClock,
}

/** Checks that run only if `METRICS_PORT` is set. */
const METRICS_CHECKS: Readonly<Record<string, Check>> = {
  'metrics port': ({ telemetry: { scraping } }) =>
    scraping === null
      ? Promise.resolve({ ok: true, found: 'none' })
      : checkPort('METRICS_PORT', scraping.host, scraping.port),
}

/** Checks that run only if the host serves TLS. */
const TLS_CHECKS: Readonly<Record<string, Check>> = {
  'HTTP redirect port': ({ host, httpRedirectPort }) =>
    httpRedirectPort === null
      ? Promise.resolve({ ok: true, found: 'none' })
      : checkPort('HTTP_REDIRECT_PORT', host, httpRedirectPort),
  certificate: checkCertificate,
}

/** Reading the settings has already checked that the certificate can be used. */
async function checkCertificate(settings: Settings): Promise<Omit<Finding, 'what'>> {
  const { certificate } = settings
  if (certificate === null) return { ok: true, found: 'none' }
  const { x509 } = readCertificate(certificate)
  const state = stateOfCertificate(x509, Date.now())
  const problem = sayProblem(state, Date.now())
  const others = namesNotCovered(x509, publicNames(settings))
  const faults = [
    problem === null
      ? null
      : [problem, 'Renew the certificate. docs/tls.md describes how to replace the file automatically.'],
    others.length === 0
      ? null
      : [
          `The certificate covers ${state.names}, but not ${others.join(', ')}.`,
          'Get a certificate that also covers these names. For SOLUTION_ORIGIN, it needs a wildcard name.',
        ],
  ].filter((fault) => fault !== null)
  if (faults.length > 0) {
    const [found, advice] = [0, 1].map((part) => faults.map((fault) => fault[part]).join(' ')) as [string, string]
    return { ok: false, found, advice }
  }
  return { ok: true, found: `valid for ${state.names} until ${x509.validToDate.toISOString()}` }
}

function line({ ok, what, found, advice }: Finding, terminal: Terminal): string {
  const mark = ok ? terminal.styled('green', 'ok   ') : terminal.styled('red', 'error')
  const text = `${mark}  ${what.padEnd(24)} ${printable(found)}\n`
  return advice === undefined || ok ? text : `${text}       ${terminal.styled('cyan', '→')} ${printable(advice)}\n`
}

function unexpected(error: unknown): Omit<Finding, 'what'> {
  const found = error instanceof Error ? error.message : String(error)
  return {
    ok: false,
    found,
    advice: 'Fix the problem described above. The results of the other checks may show its cause.',
  }
}

function checkNode(): Omit<Finding, 'what'> {
  const { node } = process.versions
  const advice = 'Run "npm ci" without --omit=optional to install Node.js 26 with the project, or install it yourself.'
  return { ok: fits(node), found: `${node} at ${process.execPath}`, advice }
}

function settingsFrom(environment: Environment): Settings | { readonly faults: readonly string[] } {
  try {
    return readSettings(environment)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const [, ...faults] = error.message.split('\n').map((fault) => fault.trim())
    return { faults }
  }
}

/** Starts a real sandbox process, and loads a solution in it. */
async function checkSandbox(): Promise<Omit<Finding, 'what'>> {
  const [{ createSupervisor }, { builtInPlugins, checkGuests, usableTrusted }, { createSandboxSolutionMaker }] =
    await Promise.all([
      import('../../runtime/supervisor.ts'),
      import('../../base/bundles/plugins.ts'),
      import('../../base/bundles/sandbox-solution.ts'),
    ])
  const limits = createLimits()
  const plugins = builtInPlugins('none', limits)
  const trusted = usableTrusted(plugins, createSandboxSolutionMaker(plugins), limits)
  const supervisor = createSupervisor({ limits, trusted, timeZone: 'Etc/UTC', keepsSpare: false })
  const start = performance.now()
  try {
    await checkGuests(plugins, supervisor, trusted)
    return { ok: true, found: `started and loaded a solution in ${Math.round(performance.now() - start)} ms` }
  } catch (error) {
    const advice = 'Run "npm ci" again. isolated-vm has prebuilt binaries for Linux on x64 and arm64 with glibc.'
    return { ok: false, found: (error as Error).message, advice }
  } finally {
    supervisor.stop()
  }
}

async function checkPort(
  property: string,
  host: string,
  port: number,
  isSecure = false,
): Promise<Omit<Finding, 'what'>> {
  const place = `${port} on ${host}`
  if (port === 0) return { ok: true, found: `${property} is 0, so the host will use any free port` }
  const problem = await listenOnce(host, port)
  if (problem === null) return { ok: true, found: `${place} is free` }
  if (problem === 'EADDRINUSE') {
    // Every port of a host except the metrics port responds to probes.
    const isOurs = await isSolhost(addressOf(host, port, isSecure))
    const who = isOurs ? 'a running Solhost host' : 'another program'
    return {
      ok: false,
      found: `${place} is already in use by ${who}`,
      advice: `Stop that program, or set ${property} to a free port.`,
    }
  }
  const advice =
    problem === 'EACCES'
      ? `Ports below 1024 require extra privileges. Set ${property} to a higher port.`
      : `Set ${ADDRESS_PROPERTIES[property] ?? 'HOST'} to an address of this machine.`
  return { ok: false, found: `cannot listen on ${place} (${problem})`, advice }
}

function addressOf(host: string, port: number, isSecure: boolean): URL {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return new URL(`${isSecure ? 'https' : 'http'}://${name}:${port}`)
}

async function checkHome({ home }: Settings): Promise<Omit<Finding, 'what'>> {
  const advice = 'Give the account that runs Solhost write access to it, or set PLATFORM_HOME to another folder.'
  const existing = nearestExisting(home)
  try {
    if (!statSync(existing).isDirectory()) {
      return { ok: false, found: `${existing} is not a folder`, advice: 'Set PLATFORM_HOME to a folder.' }
    }
    await access(existing, constants.R_OK | constants.W_OK | constants.X_OK)
    // Create a folder to test this: even with the right permissions, the disk can be full or mounted read-only.
    rmSync(mkdtempSync(join(existing, '.solhost-doctor-')), { recursive: true })
  } catch (error) {
    return { ok: false, found: `${home} is not writable (${(error as NodeJS.ErrnoException).code})`, advice }
  }
  if (existing !== home) return { ok: true, found: `the host will create ${home}` }
  const open = openToOthers(home)
  if (open === null) return { ok: true, found: `${home} is writable` }
  const close = `chmod 700 ${home} && chmod 600 ${open}`
  return {
    ok: false,
    found: `other accounts can read ${open}`,
    advice: `The folder contains secrets. To make it accessible only to its owner, run: ${close}`,
  }
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

/** Reports a file with secrets that other accounts on this machine can read. */
function openToOthers(home: string): string | null {
  if (!platformOf().hasModes || (statSync(home).mode & 0o077) === 0) return null
  const files = ['platform-key', 'admin-password', 'example-users', 'platform.sqlite'].map((name) => join(home, name))
  return files.find((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0) ?? null
}

/** Minimum free disk space in bytes. Chosen here: enough for a few bundles, logs and an upload. */
const LEAST_SPACE = 512 * 1024 ** 2

async function checkSpace({ home }: Settings): Promise<Omit<Finding, 'what'>> {
  const { bavail, bsize } = statfsSync(nearestExisting(home))
  const free = bavail * bsize
  const found = `${Math.floor(free / 1024 ** 2)} MB free`
  return {
    ok: free >= LEAST_SPACE,
    found,
    advice: `A host needs at least ${LEAST_SPACE / 1024 ** 2} MB. Free up space on the disk that contains PLATFORM_HOME.`,
  }
}

async function checkMemory({ memory }: Settings): Promise<Omit<Finding, 'what'>> {
  const { createMemoryBound } = await import('../../runtime/memory-bound.ts')
  const bound = createMemoryBound({ configured: memory.maximum })
  return memoryFinding(bound.measure({ known: [], begun: [], leaving: [] }), totalmem())
}

async function checkDatabase(settings: Settings): Promise<Omit<Finding, 'what'>> {
  const { databaseProblem } = await import('../look-at-database.ts')
  const { kind, name } = settings.database
  const problem = await databaseProblem(settings)
  if (problem === null) return { ok: true, found: `"${name}" (${kind}) is ready` }
  return { ok: false, found: problem.what, advice: problem.advice }
}

/**
 * A time before this version's release. If the clock shows an earlier time, it is wrong, and certificates and tokens
 * would be rejected.
 */
const MADE = Date.parse('2026-01-01T00:00:00Z')
/** Maximum difference between the clocks of the file system and the process, in ms. */
const MOST_DIFFERENCE = 5000

async function checkClock({ home }: Settings): Promise<Omit<Finding, 'what'>> {
  const advice = 'Set the clock, and synchronize it with NTP (timedatectl set-ntp true).'
  const found = new Date().toISOString()
  if (Date.now() < MADE) return { ok: false, found: `the clock is wrong: it shows ${found}`, advice }
  const apart = differenceOfDisk(nearestExisting(home))
  if (apart <= MOST_DIFFERENCE) return { ok: true, found }
  return {
    ok: false,
    found: `${found}, but the file system’s clock differs by ${Math.round(apart / 1000)} s`,
    advice,
  }
}

/** Returns the difference in ms; 0 if nothing can be written, which another check reports. */
function differenceOfDisk(place: string): number {
  try {
    const folder = mkdtempSync(join(place, '.solhost-doctor-'))
    try {
      return Math.abs(statSync(folder).mtimeMs - Date.now())
    } finally {
      rmSync(folder, { recursive: true })
    }
  } catch {
    return 0
  }
}
