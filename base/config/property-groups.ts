import type { DatabaseServer } from '../database/kind.ts'
import type { PROPERTIES } from './properties.ts'
import type { ValuesOf } from './property.ts'

/** The values of a host's properties. The control center shares many of them. */
export type Values = ValuesOf<typeof PROPERTIES>

type ServerValues<Kind extends string> = {
  readonly [Name in `DB_${Kind}_${'SERVER' | 'USERNAME' | 'PASSWORD'}`]: string
} & { readonly [Name in `DB_${Kind}_PORT`]: number } & { readonly [Name in `DB_${Kind}_TLS`]: DatabaseServer['tls'] }

/** The settings of one database server, such as `DB_ALPHA_*`. */
export function serverOf<const Kind extends 'ALPHA' | 'BETA' | 'GAMMA'>(
  kind: Kind,
  values: ServerValues<Kind>,
): DatabaseServer {
  return {
    host: values[`DB_${kind}_SERVER`],
    port: values[`DB_${kind}_PORT`],
    username: values[`DB_${kind}_USERNAME`],
    password: values[`DB_${kind}_PASSWORD`],
    tls: values[`DB_${kind}_TLS`],
  }
}
