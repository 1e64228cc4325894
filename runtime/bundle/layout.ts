/** The purpose of a file, by its path inside the folder of a solution or module. */
export type Place =
  | { readonly kind: 'manifest' }
  | { readonly kind: 'loginTemplate' }
  | { readonly kind: 'script'; readonly base: string }
  | { readonly kind: 'formScript'; readonly base: string }
  | { readonly kind: 'form'; readonly base: string }
  | { readonly kind: 'i18n'; readonly locale: string | null }
  | { readonly kind: 'media'; readonly path: string }
  /** `expected`: such files are common in projects, so they don't cause a warning. */
  | { readonly kind: 'unused'; readonly expected: boolean }

/** The prefix of the platform's own texts, which the solution's translation files need not contain. */
export const PLATFORM_KEYS = 'platform.'

export const MANIFEST = 'solution.json'
export const LOGIN_TEMPLATE = 'media/login.html'

/**
 * Splits a path: `modules/crm/globals.js` becomes module `crm` and path `globals.js`. `module` is null for the
 * solution's own files.
 */
export function splitModule(file: string): { module: string | null; path: string } {
  const match = /^modules\/([^/]+)\/(.+)$/.exec(file)
  return match ? { module: match[1] as string, path: match[2] as string } : { module: null, path: file }
}

/** The folder of a solution or module, as a prefix of its files' names. */
export function folderOf(module: string | null): string {
  return module === null ? '' : `modules/${module}/`
}

export function placeOf(path: string): Place {
  if (path === MANIFEST) return { kind: 'manifest' }
  if (path === LOGIN_TEMPLATE) return { kind: 'loginTemplate' }
  if (path.startsWith('media/')) return { kind: 'media', path: path.slice('media/'.length) }
  if (/\.d\.ts$|\.test\.[jt]s$/.test(path)) return { kind: 'unused', expected: true }
  const [, folder, base, ending] = /^(?:(scopes|forms|i18n)\/)?([^/]+)\.(js|ts|json)$/.exec(path) ?? []
  if (base !== undefined) {
    const isScript = ending !== 'json'
    if (isScript && (folder === 'scopes' || (folder === undefined && base === 'globals')))
      return { kind: 'script', base }
    if (folder === 'forms') return { kind: isScript ? 'formScript' : 'form', base }
    if (folder === 'i18n' && !isScript) return { kind: 'i18n', locale: localeOf(base) }
  }
  // The command "solhost init" creates some of these files for editors.
  return { kind: 'unused', expected: /(^|\/)(readme|license)[^/]*$|^jsconfig\.json$|^\.solhost\//i.test(path) }
}

/**
 * Returns the locale for a file's base name, such as `nl-BE` for `nl_BE`.
 * @returns null if the name is not a locale in this form
 */
function localeOf(base: string): string | null {
  if (base === 'default') return base
  return /^[a-z]{2,3}(_[A-Z][a-z]{3})?(_([A-Z]{2}|\d{3}))?$/.test(base) ? base.replaceAll('_', '-') : null
}
