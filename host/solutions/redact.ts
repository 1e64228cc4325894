/** Takes what must not be logged out of a text. */
export type Redact = (text: string) => string

/** A log line is far shorter; names written in place of short values must not make it grow without end. */
const LONGEST = 10_000
const LONGEST_NAME = 40

/**
 * Replaces secrets by their names in brackets: passwords, tokens and `custom_*` values that a script may quote in a log
 * line or an error, also in the spellings that JSON and URLs give them. One pass, so that nothing that was written in
 * place of a secret is looked at again.
 */
export function createRedact(secrets: ReadonlyMap<string, string>): Redact {
  // Made when it is needed: most logins log nothing.
  let redact: Redact | null = null
  return (text) => {
    redact ??= makeRedact(secrets)
    return redact(text)
  }
}

function makeRedact(secrets: ReadonlyMap<string, string>): Redact {
  const names = new Map<string, string>()
  for (const [name, secret] of secrets) {
    for (const spelling of spellings(secret)) if (!names.has(spelling)) names.set(spelling, shownName(name))
  }
  if (names.size === 0) return (text) => text
  // The longest first, so that a value that holds another goes as a whole.
  const longestFirst = [...names.keys()].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(longestFirst.map(patternOf).join('|'), 'gu')
  return (text) => text.replace(pattern, (found) => `[${names.get(found)}]`).slice(0, LONGEST)
}

/** The fields of a login that are secret. */
export function secretFields(fields: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...fields].filter(([name]) => name === 'password' || name.startsWith('custom_')))
}

/** A value of one or two characters stands in half the words there are: it is found only as a word of its own. */
function patternOf(spelling: string): string {
  const escaped = RegExp.escape(spelling)
  return spelling.length > 2 ? escaped : `(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`
}

/** A name comes from the browser as well, so only what a field's name needs is written. */
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
