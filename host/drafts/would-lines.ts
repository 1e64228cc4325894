import type { QueuedRun } from '../../plugins/jobs/host.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { Recorded } from '../solution-tests/recorder.ts'

/** An effect that a script requested. `text` describes what it would do on a real host. */
export type Would = { readonly command: string; readonly args: readonly Json[]; readonly text: string }

/** Describes commands by their arguments. Commands that aren't listed here are described by their name. */
const TEXTS: Readonly<Record<string, (args: readonly Json[]) => string>> = {
  'security.login': ([username, , permissions]) => `sign in ${shown(username)} with ${listed(permissions)}`,
  'security.logout': () => 'sign the user out',
  'security.requireSecondFactor': () => 'require a second factor',
  'security.confirm': () => 'ask the user to confirm their identity',
  'security.setTenantValue': ([values]) => `set the tenant to ${listed(values)}`,
  'i18n.setLocale': ([language, country]) =>
    `set the language to ${shown(language)}${country === null ? '' : `-${shown(country)}`}`,
  'i18n.setMessage': ([key]) => `change the text ${shown(key)}`,
  'application.showURL': ([url]) => `open ${shown(url)}`,
  'application.showForm': ([form]) => `show the form ${shown(form)}`,
  'application.closeSolution': () => 'close the solution',
  'application.executeLater': () => 'run a function later',
  'application.cancelLater': () => 'cancel a function that was scheduled to run later',
  'jobs.enqueue': ([run]) => queued(run),
}

/**
 * Maximum characters of a description. Longer ones are truncated, but `args` always contains the complete arguments.
 */
const LONGEST = 200

export function wouldLines(commands: Recorded['commands']): Would[] {
  return commands.map(({ name, args }) => {
    const describe = Object.hasOwn(TEXTS, name) ? TEXTS[name] : undefined
    return { command: name, args, text: `would ${describe?.(args) ?? `call ${name}`}` }
  })
}

function shown(value: Json | undefined): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

/** Describes the command that queues a job's run. */
function queued(run: Json | undefined): string {
  const { job, data, after, at, tenant } = { ...(run as Partial<QueuedRun>) }
  return [
    `queue ${shown(job)}`,
    ...(typeof data === 'string' ? [`with ${shown(data)}`] : []),
    ...(typeof after === 'number' ? [`in ${after} ms`] : []),
    ...(typeof at === 'number' ? [`at ${new Date(at).toISOString()}`] : []),
    ...(Array.isArray(tenant) ? [`for the tenant ${listed(tenant)}`] : []),
  ].join(' ')
}

function listed(values: Json | undefined): string {
  return shown(Array.isArray(values) ? values.map((value) => shown(value)).join(', ') : values)
}
