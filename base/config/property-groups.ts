import type { DatabaseServer } from '../database/kind.ts'
import type { DatabaseServers } from '../database/open.ts'
import type { PROPERTIES } from './properties.ts'
import type { ValuesOf } from './property.ts'

/** The values of a host's properties. The control center has many of them too. */
export type Values = ValuesOf<typeof PROPERTIES>

type ServerValues<Kind extends string> = {
  readonly [Name in `DB_${Kind}_${'SERVER' | 'USERNAME' | 'PASSWORD'}`]: string
} & { readonly [Name in `DB_${Kind}_PORT`]: number } & { readonly [Name in `DB_${Kind}_TLS`]: DatabaseServer['tls'] }

/** `DB_ALPHA_*`, `DB_BETA_*` and `DB_GAMMA_*`. */
export function databaseServersOf(values: Values): DatabaseServers {
  return { alpha: serverOf('ALPHA', values), beta: serverOf('BETA', values), gamma: serverOf('GAMMA', values) }
}

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
