import { PROPERTIES } from '../../base/config/properties.ts'
import type { Property } from '../../base/config/property.ts'
import type { ReadSetting, SettingSource } from '../../base/config/read-properties.ts'
import { withoutKeys } from '../../base/config/without-keys.ts'
import { LIMITS, type LimitName } from '../../runtime/limits.ts'

/** One effective setting, safe to show to an operator. */
export type ShownSetting = {
  readonly name: string
  readonly kind: 'property' | 'limit'
  /** As text, without the credentials and keys that URLs may contain. Null for a secret, or if nothing is set. */
  readonly value: string | null
  readonly isSet: boolean
  readonly isSecret: boolean
  readonly source: SettingSource
  /** The default as text; null if there is none. */
  readonly default: string | null
  readonly what: string
}

/** @param read the settings that are set, by name; all others have their defaults */
export function showSettings(read: ReadonlyMap<string, ReadSetting>): readonly ShownSetting[] {
  const properties = Object.entries(PROPERTIES as Record<string, Property>).map(([name, property]) => {
    return shown(name, 'property', property, property.secret === true, read.get(name))
  })
  const limits = (Object.keys(LIMITS) as LimitName[]).map((name) => {
    return shown(name, 'limit', LIMITS[name], false, read.get(name))
  })
  return [...properties, ...limits]
}

function shown(
  name: string,
  kind: ShownSetting['kind'],
  { default: usual, what }: { readonly default: string; readonly what: string },
  isSecret: boolean,
  { text, source }: ReadSetting = { text: usual, source: 'default' },
): ShownSetting {
  const value = isSecret || text === '' ? null : withoutKeys(text)
  return { name, kind, value, isSet: text !== '', isSecret, source, default: usual === '' ? null : usual, what }
}
