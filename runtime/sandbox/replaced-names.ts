import type { Warning } from '../bundle/faults.ts'

type Script = { readonly file: string; readonly source: string }

/**
 * Names that exist in the original product but not in Solhost, with their replacements. Some are members of an object
 * that exists in both. docs/migrating.md explains each of them.
 */
export const REPLACED_NAMES: Readonly<Record<string, string>> = {
  databaseManager: 'await plugins.database.query(name, sql, parameters)',
  datasources: 'await plugins.database.query(name, sql, parameters)',
  foundset: 'plugins.database.query, and assign the rows that it returns to a table element',
  controller: 'this.title, application.showForm(name) or the form’s elements',
  currentcontroller: 'application.showForm(name)',
  elements: 'this.elements, or forms.<name>.elements elsewhere',
  history: 'application.showForm(name)',
  utils: 'methods of String, Number, Date and Intl',
  JSEvent: 'event.type, and compare it with a constant of EventType',
  'plugins.dialogs': 'an input’s error, a label, or your own form with application.showForm',
  'plugins.jwt': 'the authenticator OAUTH for ID tokens; there is no replacement for other tokens',
  'plugins.http.createNewHttpClient': 'await plugins.http.fetch(url, init)',
  'plugins.http.getPageData': 'await plugins.http.fetch(url, init)',
  'plugins.mail': 'await plugins.http.fetch(url, init) to call a mail service',
  'plugins.file': 'media/ for files that users see, and a database for data',
  'plugins.scheduler':
    'a job with a schedule in solution.json, or application.executeLater(callback, milliseconds) in an open client',
  'plugins.rawSQL': 'await plugins.database.query(name, sql, parameters)',
  'application.sleep': 'application.executeLater(callback, milliseconds)',
  'application.setStatusText': 'a label element',
  'application.getApplicationType': 'a constant, because every client is a browser',
  'application.isInDeveloper': 'application.getEnvironment() === "dev"',
  'security.isUserMemberOfGroup': 'security.hasPermission(name)',
  'security.getUserGroups': 'security.getUserPermissions()',
  'i18n.setI18NMessages': 'i18n.setI18NMessage(key, value)',
}

/** Globals of browsers and Node.js that authors often use, with their replacements. They fail only when they run. */
const FOREIGN_NAMES: Readonly<Record<string, string>> = {
  setTimeout: 'application.executeLater(callback, milliseconds) in an open client',
  setInterval: 'application.executeLater(callback, milliseconds) in an open client, or a job with a schedule',
  fetch: 'await plugins.http.fetch(url, init)',
  XMLHttpRequest: 'await plugins.http.fetch(url, init)',
  alert: 'an input’s error, or a label',
  window: 'forms.<name>.elements for the page, and globals for variables',
  document: 'forms.<name>.elements',
  localStorage: 'a variable while the client is open, or a database',
  sessionStorage: 'a variable, which lasts while the client is open',
  require: 'the functions of the other scripts directly, because they are global',
}

const REPLACEMENTS: Readonly<Record<string, string>> = { ...REPLACED_NAMES, ...FOREIGN_NAMES }

/** Properties don't match: a script that only uses `plugins.http.fetch` needs no parser. */
const MENTIONED = new RegExp(
  `\\b(?<!(?:^|[^.])\\.\\s*)(?:${Object.keys(REPLACEMENTS)
    .map((name) => name.split('.').join('\\s*\\.\\s*'))
    .join('|')})\\b`,
)

/**
 * Warns about each of the `REPLACEMENTS` at its first use in a script. A name that a script declares at its top level
 * belongs to the solution and is exempt in all scripts. A name declared in a form's script is exempt only there.
 */
export async function warnOfReplacedNames(
  scripts: readonly Script[],
  formScripts: readonly Script[],
): Promise<Warning[]> {
  const suspects = [...scripts, ...formScripts].filter(({ source }) => MENTIONED.test(source))
  if (suspects.length === 0) return []
  const [{ freeNames }, { topLevelNames }] = await Promise.all([
    import('./free-names.ts'),
    import('./top-level-names.ts'),
  ])
  const declared = new Set(scripts.flatMap(({ source }) => topLevelNames(source).map(({ name }) => name)))
  return suspects.flatMap(({ file, source }) => {
    const reported = new Set<string>()
    return freeNames(source).flatMap(({ name, start, line, column }): Warning[] => {
      const path =
        /^[\w$]+(?:\s*\.\s*[\w$]+){0,2}/.exec(source.slice(start, start + 200))?.[0].replaceAll(/\s/g, '') ?? name
      const found = prefixesOf(path).find((prefix) => Object.hasOwn(REPLACEMENTS, prefix))
      if (found === undefined || declared.has(name) || reported.has(found) || isTested(source, start)) return []
      reported.add(found)
      const message = `Solhost does not support "${found}". Use ${REPLACEMENTS[found]}.`
      return [{ code: 'name_replaced', file, line, column, message }]
    })
  })
}

/** Whether the script only tests if the name exists, as libraries do: `typeof window`. */
function isTested(source: string, start: number): boolean {
  return /\btypeof\s+$/.test(source.slice(Math.max(0, start - 20), start))
}

/** Returns a path's prefixes, longest first. For `a.b.c`: `a.b.c`, `a.b`, `a`. */
function prefixesOf(path: string): string[] {
  const parts = path.split('.')
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('.'))
}
