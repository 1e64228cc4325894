import type { Json } from '../../runtime/plugin.ts'

/** Scripts get these parameters only from the form, because browser histories and logs contain URLs. */
const NEVER_FROM_URL = new Set(['username', 'password'])
/**
 * Fields that scripts never receive. Most are meant only for the host. Only the host may set `last_login`, because
 * authenticators skip the password check if it is set.
 */
const NEVER_FOR_SCRIPTS = new Set(['csrf_token', 'id_token', 'passkey', 'remember', 'last_login'])

/**
 * Returns `queryParams` for an entry function: the URL's parameters and the form's fields. Fields take precedence. All
 * values are strings, in their original order. The object has no prototype, not even in the guest.
 */
export function queryParams(
  url: ReadonlyMap<string, string>,
  fields?: ReadonlyMap<string, string>,
): Record<string, Json> {
  const params = Object.create(null) as Record<string, Json>
  for (const [name, value] of url) if (!NEVER_FROM_URL.has(name) && !NEVER_FOR_SCRIPTS.has(name)) params[name] = value
  for (const [name, value] of fields ?? []) if (!NEVER_FOR_SCRIPTS.has(name)) params[name] = value
  return params
}

/** Returns the `custom_*` fields from all maps. Later maps take precedence. */
export function customFields(...maps: readonly ReadonlyMap<string, string>[]): Record<string, string> {
  return Object.fromEntries(maps.flatMap((map) => [...map]).filter(([name]) => isCustom(name)))
}

/** Returns the parameters without those named `custom_*`. */
export function withoutCustom(url: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...url].filter(([name]) => !isCustom(name)))
}

function isCustom(name: string): boolean {
  return name.startsWith('custom_')
}

/** Returns the value of `arg` for `onSolutionOpen`: the URL's parameter `argument`, or null. */
export function argumentOf(url: ReadonlyMap<string, string>): string | null {
  return url.get('argument') ?? null
}

/**
 * Returns the fields that a login page prefills, or preserves across requests. The template decides which inputs show
 * them.
 */
export function keptFields(
  from: ReadonlyMap<string, string>,
  options: { readonly username: boolean },
): Map<string, string> {
  return new Map([...from].filter(([name]) => isCustom(name) || (options.username && name === 'username')))
}
