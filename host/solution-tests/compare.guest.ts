const SafeRegExp = RegExp
const { stringify } = JSON

export function show(value: unknown): string {
  const text = describe(value, 2)
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}

/** Formats a value in the syntax of scripts, on one line if it is short. */
function describe(value: unknown, indent: number): string {
  if (typeof value === 'string') return stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return `[function ${value.name}]`
  if (typeof value !== 'object' || value === null || value instanceof SafeRegExp) return String(value)
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (value instanceof Date) return `Date ${value.getTime()}`
  if (indent > 12) return '…'
  const entries = partsOf(value)
  const isList = Array.isArray(value)
  const shown = entries.map(([name, part]) => `${isList ? '' : `${name}: `}${describe(part, indent + 2)}`)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  const line = `${open}${shown.join(', ')}${close}`
  if (line.length < 90) return line
  const space = ' '.repeat(indent + 2)
  return `${open}\n${shown.map((one) => `${space}${one}`).join(',\n')}\n${' '.repeat(indent)}${close}`
}

function partsOf(value: object): (readonly [string, unknown])[] {
  if (value instanceof Map) return [...value].map(([key, part]) => [`<${describe(key, 12)}>`, part])
  if (value instanceof Set) return [...value].map((part, index) => [`<${index}>`, part])
  return Object.entries(value).filter(([, part]) => part !== undefined)
}

/**
 * Returns the path to the first difference between two values, such as `.rows[2].name`; null if they are equal. An
 * undefined property is treated as absent.
 */
export function difference(one: unknown, other: unknown, path: string, depth: number): string | null {
  if (Object.is(one, other)) return null
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null || depth === 0) return path
  if (Array.isArray(one) !== Array.isArray(other)) return path
  const isSpecial = (value: object) => value instanceof Date || value instanceof SafeRegExp || value instanceof Error
  if (isSpecial(one) || isSpecial(other)) return describe(one, 0) === describe(other, 0) ? null : path
  const [mine, theirs] = [new Map(partsOf(one)), new Map(partsOf(other))]
  for (const name of new Set([...mine.keys(), ...theirs.keys()])) {
    const place = Array.isArray(one) ? `${path}[${name}]` : `${path}.${name}`
    if (mine.has(name) !== theirs.has(name)) return place
    const found = difference(mine.get(name), theirs.get(name), place, depth - 1)
    if (found !== null) return found
  }
  return null
}
