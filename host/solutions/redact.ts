/**
 * Takes what must not be logged out of a text: passwords, tokens and `custom_*` values that a script may quote in a
 * log line or an error. Also in the spellings that JSON and URLs give them.
 * @param secrets by the name that is written in their place
 */
export function redact(text: string, secrets: ReadonlyMap<string, string>): string {
  let clean = text
  for (const [name, secret] of secrets) {
    for (const spelling of spellings(secret)) clean = clean.replaceAll(spelling, `[${name}]`)
  }
  return clean
}

/** The fields of a login that are secret. */
export function secretFields(fields: ReadonlyMap<string, string>): Map<string, string> {
  const secrets = [...fields].filter(([name]) => name === 'password' || name.startsWith('custom_'))
  // The longest first, so that a value that holds another goes as a whole.
  return new Map(secrets.sort(([, a], [, b]) => b.length - a.length))
}

function spellings(secret: string): Set<string> {
  if (secret === '') return new Set()
  const wellFormed = secret.toWellFormed()
  return new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(wellFormed),
    new URLSearchParams({ '': wellFormed }).toString().slice(1),
  ])
}
