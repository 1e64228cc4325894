import { PlatformError } from '../../runtime/errors.ts'
import { LIMITS, type LimitName, parseQuantity, quantityForm } from '../../runtime/limits.ts'
import { misspeltNames } from './misspelt.ts'
import { PROPERTIES } from './properties.ts'
import type { Property, PropertyTable } from './property.ts'
import { readSecretFile } from './secret-file.ts'
import { unreadSecret } from './unread-secret.ts'
import { withoutKeys } from './without-keys.ts'

/** The source of a value: the property itself, the file named by `NAME_FILE`, or the default. */
export type SettingSource = 'environment' | 'file' | 'default'

/** A setting's value as text, and where it was read from. */
export type ReadSetting = { readonly text: string; readonly source: SettingSource }

/** Environment variables and limits, parsed but not yet combined into settings. */
export type ReadProperties<Values> = {
  /** The values by name. A value is absent if its text is not allowed. */
  readonly values: Partial<Values>
  readonly read: Map<string, ReadSetting>
  readonly overrides: Partial<Record<LimitName, number>>
  /** One line for each error. It contains the property, its allowed values, and its value unless that is a secret. */
  readonly faults: string[]
}

export function readProperties<Values>(
  properties: PropertyTable<Values>,
  environment: Readonly<Record<string, string | undefined>>,
): ReadProperties<Values> {
  const faults: string[] = []
  const values: { -readonly [Name in keyof Values]?: Values[Name] } = {}
  const read = new Map<string, ReadSetting>()
  // The host's properties are included, so that the control center doesn't report them as typos. Both services can
  // share an environment.
  const known: Record<string, Property> = { ...PROPERTIES }
  for (const name in properties) {
    const property = properties[name]
    known[name] = property
    const one = readText(name, property, environment, faults)
    const { text } = one
    read.set(name, one)
    const value = property.read(text)
    if (value === undefined) faults.push(faultLine(name, property, text))
    else values[name] = value
  }
  const overrides = readLimits(environment, read, faults)
  faults.push(...misspeltNames(environment, knownNames(known)))
  return { values, read, overrides, faults }
}

function knownNames(properties: Readonly<Record<string, Property>>): string[] {
  const files = Object.entries(properties).filter(([, { secret }]) => secret)
  return [...Object.keys(properties), ...files.map(([name]) => `${name}_FILE`), ...Object.keys(LIMITS)]
}

/**
 * Asserts that every property has a value. For each property without one, `faults` must contain an error.
 * @param who the name of the service that cannot start
 * @throws ERR_SETTINGS_INVALID with all errors, if there are any
 */
export function refuseFaults<Values>(
  who: string,
  _values: Partial<Values>,
  faults: readonly string[],
): asserts _values is Values {
  if (faults.length === 0) return
  throw new PlatformError(
    'ERR_SETTINGS_INVALID',
    `${who} cannot start because these settings are invalid:\n${faults.map((line) => `  ${line}`).join('\n')}`,
  )
}

/** Reads the property's text from the environment. A secret can also be in the file named by `NAME_FILE`. */
function readText(
  name: string,
  property: Property,
  environment: Readonly<Record<string, string | undefined>>,
  faults: string[],
): ReadSetting {
  const usual = { text: property.default, source: 'default' } as const
  const file = property.secret ? environment[`${name}_FILE`] : undefined
  if (file === undefined || file === '') {
    const text = environment[name]?.trim()
    return text === undefined ? usual : { text, source: 'environment' }
  }
  try {
    return { text: readSecretFile(file), source: 'file' }
  } catch (error) {
    faults.push(unreadSecret(name, error))
    return usual
  }
}

function readLimits(
  environment: Readonly<Record<string, string | undefined>>,
  read: Map<string, ReadSetting>,
  faults: string[],
): Partial<Record<LimitName, number>> {
  const overrides: Partial<Record<LimitName, number>> = {}
  for (const name of Object.keys(LIMITS) as LimitName[]) {
    const text = environment[name]
    if (text === undefined || text === '') continue
    const { kind } = LIMITS[name]
    const quantity = parseQuantity(kind, text)
    if (quantity === null || quantity === 0) faults.push(`${name} must be ${quantityForm(kind)}, but is "${text}"`)
    else {
      overrides[name] = quantity
      read.set(name, { text: text.trim(), source: 'environment' })
    }
  }
  return overrides
}

function faultLine(name: string, property: Property, text: string): string {
  const given = property.secret ? `has ${text.length} characters` : `is "${withoutKeys(text)}"`
  // The text after a semicolon describes the meaning of an empty value, so it is left out.
  const [form] = property.form.split(';')
  return `${name} must be ${form}, but ${given}`
}
