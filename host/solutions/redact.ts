/** Replaces secrets in a text. */
export type Redact = (text: string) => string

/**
 * Maximum characters of a redacted text; longer ones are cut. Inserting names can make a text longer, because a
 * secret's name may be longer than the secret.
 */
const LONGEST = 10_000
const LONGEST_NAME = 40
/** How many leading characters of a secret are searched for. V8 refuses patterns for more than 32,748 characters. */
const LONGEST_START = 10_000

/**
 * Creates a function that replaces secrets with their names in brackets. Secrets are the passwords, tokens and
 * `custom_*` values that a script may quote in a log line or an error. Their JSON and URL encodings are replaced too.
 * The function makes a single pass, so inserted names are not scanned again.
 */
export function createRedact(secrets: ReadonlyMap<string, string>): Redact {
  // Create it lazily, because most logins log nothing.
  let redact: Redact | null = null
  return (text) => {
    redact ??= makeRedact(secrets)
    return redact(text)
  }
}

function makeRedact(secrets: ReadonlyMap<string, string>): Redact {
  const names = new Map<string, string>()
  for (const [name, secret] of secrets) {
    for (const start of spellings(secret).map(startOf)) if (!names.has(start)) names.set(start, shownName(name))
  }
  if (names.size === 0) return (text) => text
  // Longest first, so that a value that contains a shorter one is replaced as a whole.
  const longestFirst = [...names.keys()].sort((a, b) => b.length - a.length)
  const nameOf = (found: string) => names.get(found) ?? [...names].find(([start]) => found.startsWith(start))?.[1]
  return (text) => {
    // Compiling a pattern for all secrets that a browser can send takes up to a second, so leave out those that the
    // text doesn't contain.
    const contained = longestFirst.filter((start) => text.includes(start))
    if (contained.length === 0) return text.slice(0, LONGEST)
    const pattern = new RegExp(contained.map(patternOf).join('|'), 'gu')
    return text.replace(pattern, (found) => `[${nameOf(found)}]`).slice(0, LONGEST)
  }
}

/** The part of a value that is searched for, without half of a surrogate pair. */
function startOf(spelling: string): string {
  if (spelling.length < LONGEST_START) return spelling
  return spelling.slice(0, LONGEST_START).replace(/[\ud800-\udbff]$/, '')
}

/** Returns the fields of a login that contain secrets. */
export function secretFields(fields: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...fields].filter(([name]) => name === 'password' || name.startsWith('custom_')))
}

/**
 * Values of one or two characters occur within many words, so they match only as whole words. After the start of a very
 * long value, the rest of the text matches too.
 */
function patternOf(start: string): string {
  const escaped = RegExp.escape(start)
  if (start.length >= LONGEST_START - 1) return `${escaped}[^]*`
  return start.length > 2 ? escaped : `(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`
}

/** The browser sends the name, so keep only the characters that a field name needs. */
function shownName(name: string): string {
  return name.slice(0, LONGEST_NAME).replace(/[^\w.-]/g, '?')
}

function spellings(secret: string): string[] {
  if (secret === '') return []
  const wellFormed = secret.toWellFormed()
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(wellFormed),
    encodeURI(wellFormed),
    new URLSearchParams({ '': wellFormed }).toString().slice(1),
  ]
}
