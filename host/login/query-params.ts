import type { Json } from '../../runtime/plugin.ts'

/** In a URL these would land in histories and logs; a script gets them from the form alone. */
const NEVER_FROM_URL = new Set(['username', 'password'])
/** The host's own fields, and what it alone says: an authenticator lets in without a password by `last_login`. */
const NEVER_FOR_SCRIPTS = new Set(['csrf_token', 'id_token', 'remember', 'last_login'])

/**
 * `queryParams` of an entry function: the URL's parameters, then the form's fields, fields winning; only texts, in
 * their order (design 5.1). Without prototype, also as the guest gets it.
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

/** The further inputs of a login page, of which the last map's win (guide 2.4). */
export function customFields(...maps: readonly ReadonlyMap<string, string>[]): Record<string, string> {
  return Object.fromEntries(maps.flatMap((map) => [...map]).filter(([name]) => isCustom(name)))
}

/** The parameters without them. */
export function withoutCustom(url: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...url].filter(([name]) => !isCustom(name)))
}

function isCustom(name: string): boolean {
  return name.startsWith('custom_')
}

/** `arg` of `onSolutionOpen`: the URL's parameter `argument`, or null. */
export function argumentOf(url: ReadonlyMap<string, string>): string | null {
  return url.get('argument') ?? null
}

/** The fields that a login page shows again or is prefilled with. Which inputs may show them the template decides. */
export function keptFields(
  from: ReadonlyMap<string, string>,
  options: { readonly username: boolean },
): Map<string, string> {
  return new Map([...from].filter(([name]) => isCustom(name) || (options.username && name === 'username')))
}
