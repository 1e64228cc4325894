import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isLoopback } from '../base/config/host-names.ts'
import { developmentOnly } from '../base/program/development-only.ts'
import { SOLHOST } from '../base/program/program-name.ts'
import type { Settings } from './config/settings.ts'
import type { Host } from './main.ts'
import { exampleFolder, firstExampleNames } from './solutions/examples.ts'

/**
 * The message at startup: URLs, examples with users to try, the generated password, and notes for the operator.
 * @param isTerminal whether the output is a terminal; if not, the output may be stored, so generated passwords stay in
 * files
 */
export async function startMessage(host: Host, settings: Settings, isTerminal = false): Promise<string> {
  const lines = [
    `Solhost is running at ${host.publicUrl}/`,
    `Admin pages:    ${host.adminUrl}/admin/`,
    ...portLines(host, settings),
    '',
  ]
  const names = await host.solutionNames()
  lines.push(...solutionLines(host, names, names.includes('orders') ? await orderUsers(host, isTerminal) : []))
  lines.push(...nextLines(host, settings))
  lines.push(...passwordLines(host, settings), ...warningLines(host, settings, names), 'Press Ctrl+C to stop it.')
  return `${lines.join('\n')}\n`
}

function solutionLines(host: Host, names: readonly string[], ofOrders: readonly string[]): string[] {
  if (names.length === 0) return ['No solutions are listed on the start page yet.', '']
  const examples = new Set(host.hasExamples ? firstExampleNames() : [])
  const lines = names.flatMap((name) => {
    const users = examples.has(name) ? usersToTry(name, host) : []
    if (name === 'orders') users.push(...ofOrders)
    return [`  ${host.addressOf(name)}`, ...users.map((user) => `      ${user}`)]
  })
  return ['Solutions:', ...lines, '']
}

/** Optional ports and the control center, which are listed only if they are configured. */
function portLines({ metricsUrl, redirectPort }: Host, { cloud }: Settings): string[] {
  return [
    ...(cloud === null ? [] : [`Control center: ${cloud.url}`]),
    ...(metricsUrl === null ? [] : [`Metrics:        ${metricsUrl}`]),
    ...(redirectPort === null ? [] : [`Port ${redirectPort} redirects browsers to HTTPS`]),
  ]
}

/** Instructions for deploying a solution. */
function nextLines(host: Host, { adminName }: Settings): string[] {
  return [
    'Next:',
    `  ${SOLHOST} init <name>                          (creates a solution)`,
    `  ${SOLHOST} deploy <folder> ${host.url.startsWith('https:') ? host.publicUrl : host.url} --user ${adminName}`,
    '  or upload the solution’s ZIP file on the admin pages',
    '',
  ]
}

/** The users of the example `orders` who can sign in. Their passwords are shown only in a terminal. */
async function orderUsers({ exampleUsers }: Host, isTerminal: boolean): Promise<string[]> {
  const users = (await exampleUsers?.list()) ?? []
  if (users.length === 0 || exampleUsers === null) return []
  const lines = users.map(({ username, password, permissions }) => {
    const whose = `(permission${permissions.length === 1 ? '' : 's'} ${permissions.join(', ')})`
    return `Sign in as ${username}${isTerminal ? `, password ${password}` : ''} ${whose}`
  })
  return isTerminal ? lines : [...lines, `Their passwords are in ${exampleUsers.file}`]
}

/** Reads the demo users from the example's README, where they are list items that start with "Sign in". */
function usersToTry(example: string, { adminUrl }: Host): string[] {
  try {
    const readme = readFileSync(join(exampleFolder(example), 'README.md'), 'utf8')
    const lines = [...readme.matchAll(/^- (Sign in .*)$/gm)].map((match) => match[1] ?? '')
    return lines.map((line) => line.replaceAll('`', '').replace('http://127.0.0.1:8081', adminUrl))
  } catch {
    return []
  }
}

function passwordLines({ generatedPassword }: Host, { adminName }: Settings): string[] {
  if (generatedPassword === null) return []
  if ('file' in generatedPassword)
    return [`The password of the admin account "${adminName}" is in ${generatedPassword.file}`, '']
  return [`The password of the admin account "${adminName}" is ${generatedPassword.password} (shown only once)`, '']
}

function warningLines(host: Host, settings: Settings, names: readonly string[]): string[] {
  const { solutionOrigin, environment, shown } = settings
  const lines: string[] = [...developmentOnly(), ...exampleLines(host, settings, names)]
  const isGiven = (setting: string) => shown.some(({ name, isSet }) => name === setting && isSet)
  if (isGiven('REMOTE_ENVIRONMENT_TOKEN') && environment !== 'onprem') {
    lines.push('Note: REMOTE_ENVIRONMENT_TOKEN has no effect unless ENVIRONMENT is onprem.')
  } else if (isGiven('CLOUD_URL') && !isGiven('REMOTE_ENVIRONMENT_TOKEN')) {
    lines.push(
      'Note: CLOUD_URL is set, but REMOTE_ENVIRONMENT_TOKEN is not, so the host doesn’t connect to the control center.',
      '      Create a token on the control center’s Credentials page.',
    )
  }
  if (host.sharedOrigin) {
    // With TLS, the host doesn't start if a URL begins with http:.
    const example = host.publicUrl.startsWith('https:') ? 'https://{name}.apps.example.org' : 'http://{name}.localhost'
    lines.push(
      'Note: all solutions share one origin, so they must trust each other: a script in one can access the pages of',
      `      the others. Set SOLUTION_ORIGIN (such as ${example}) to give each its own origin.`,
    )
  }
  if (settings.mail !== null && solutionOrigin === null && settings.publicUrl === null) {
    lines.push(
      'Note: SMTP_URL is set, but the host sends no emails, because links in emails need a full URL. Set PUBLIC_URL or',
      '      SOLUTION_ORIGIN.',
    )
  }
  if (host.sharedOrigin && settings.passkeys === 'on') {
    lines.push(
      'Note: PASSKEYS=on lets a page of one solution use passkeys created in another. Set SOLUTION_ORIGIN to prevent this.',
    )
  }
  lines.push(...databaseLines(shown))
  const secure = solutionOrigin?.protocol === 'https:' || host.publicUrl.startsWith('https:')
  if (!secure) {
    lines.push(
      'Note: TLS is off, so use Solhost only on this machine. Over a network, cookies and pages would not be fully',
      '      protected.',
    )
  }
  return lines.length === 0 ? [] : [...lines, '']
}

/** The passwords of some examples are in their bundles, so everyone knows them. */
function exampleLines(host: Host, { publicUrl, ...settings }: Settings, names: readonly string[]): string[] {
  const isReachable = !isLoopback(settings.host) || (publicUrl !== null && !isLoopback(publicUrl.hostname))
  const examples = host.hasExamples && isReachable ? firstExampleNames() : []
  const known = examples.filter((name) => names.includes(name) && usersToTry(name, host).join().includes('password'))
  if (known.length === 0) return []
  return [
    `Note: other machines can reach this host, and the passwords of these examples are public: ${known.join(', ')}.`,
    '      Delete these solutions on the admin pages.',
  ]
}

/**
 * A note for operators who configured a database server but not PLATFORM_DATABASE. The server may be meant only for
 * grants to solutions, but more often the setting was forgotten.
 */
function databaseLines(shown: Settings['shown']): string[] {
  const set = shown.filter(({ source }) => source !== 'default').map(({ name }) => name)
  if (set.includes('PLATFORM_DATABASE')) return []
  const ofServer = set.map((name) => /^DB_(ALPHA|BETA|GAMMA)_/.exec(name)).find((match) => match !== null)
  if (ofServer === undefined) return []
  const kind = ofServer[1]?.toLowerCase()
  return [
    `Note: ${ofServer.input} is set, but PLATFORM_DATABASE is not, so the platform stores its data in PLATFORM_HOME. Set`,
    `      PLATFORM_DATABASE=${kind} to store it on that server, or PLATFORM_DATABASE=embedded if only solutions use it.`,
  ]
}
