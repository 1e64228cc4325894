/** Maximum length of a file name with its path, in characters. */
export const MAX_PATH = 240
const MAX_SEGMENTS = 16

/** Returns what is wrong with a file name in a bundle, worded to follow the name. Returns null for a valid name. */
export function problemOfName(name: string): string | null {
  if (name === '') return 'is empty'
  if (name.length > MAX_PATH) return `has more than ${MAX_PATH} characters`
  if (name.includes('\\')) return 'has a backslash; folders are separated by "/"'
  if (name.startsWith('/')) return 'starts with "/"; it must be relative to the solution’s folder'
  const segments = name.split('/')
  if (segments.length > MAX_SEGMENTS) return `has more than ${MAX_SEGMENTS} path segments`
  for (const segment of segments) {
    if (segment === '') return 'has an empty path segment'
    if (segment === '.' || segment === '..') return `has the path segment "${segment}"`
    if (!/^[A-Za-z0-9._-]+$/.test(segment)) return 'has characters other than A-Z, a-z, 0-9, ".", "_" and "-"'
  }
  return null
}

/** Names with the same key would refer to one file on some disks and to two files on others. */
export function nameKey(name: string): string {
  return name.normalize('NFC').toLowerCase()
}
