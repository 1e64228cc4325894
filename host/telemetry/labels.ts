import { FAILURES } from '../../runtime/outcome.ts'
import { OAUTH_PROBLEMS } from '../oauth/problems.ts'

/** All values that labels can have. They are a fixed list, so that requests can't add metric series. */

const MODES = ['default', 'authenticator', 'login_form', 'oauth', 'oauth_authenticator', 'platform_cloud'] as const
const RESULTS: readonly string[] = [
  'ok',
  'refused',
  'throttled',
  'ERR_DATABASE_UNREACHABLE',
  'ERR_CLOUD_UNREACHABLE',
  'ERR_CLOUD_REFUSED',
  'ERR_DIRECTORY_UNREACHABLE',
  'ERR_DIRECTORY_REFUSED',
  ...Object.keys(FAILURES),
  ...Object.keys(OAUTH_PROBLEMS),
]
const ENTRIES = ['onSolutionOpen', 'getOAuthConfig'] as const
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export function modeLabel(mode: string): string {
  return MODES.find((one) => one === mode.toLowerCase()) ?? 'other'
}

export function resultLabel(outcome: string): string {
  return RESULTS.includes(outcome) ? outcome : 'other'
}

/**
 * Returns the label for an entry function. Form events, endpoints and jobs share one label per kind, because solutions
 * choose their names.
 */
export function entryLabel(entry: string): string {
  if (entry.startsWith('forms.')) return 'forms'
  if (/^[A-Z]+ \//.test(entry)) return 'endpoints'
  if (entry.startsWith('job ')) return 'jobs'
  return ENTRIES.find((one) => one === entry) ?? 'other'
}

export function methodLabel(method: string): string {
  return METHODS.find((one) => one === method) ?? 'other'
}
