import type { DatabaseServer } from '../database/kind.ts'
import type { DatabaseServers } from '../database/open.ts'
import type { PROPERTIES } from './properties.ts'

/** The read value of a property; undefined: it is wrong. */
export type Value = (name: keyof typeof PROPERTIES) => unknown

/** `DB_ALPHA_*`, `DB_BETA_*` and `DB_GAMMA_*`. */
export function databaseServersOf(value: Value): DatabaseServers {
  return { alpha: serverOf('ALPHA', value), beta: serverOf('BETA', value), gamma: serverOf('GAMMA', value) }
}

function serverOf(kind: 'ALPHA' | 'BETA' | 'GAMMA', value: Value): DatabaseServer {
  return {
    host: value(`DB_${kind}_SERVER`) as string,
    port: value(`DB_${kind}_PORT`) as number,
    username: value(`DB_${kind}_USERNAME`) as string,
    password: value(`DB_${kind}_PASSWORD`) as string,
    tls: value(`DB_${kind}_TLS`) as DatabaseServer['tls'],
  }
}
