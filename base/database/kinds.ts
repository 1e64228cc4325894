import { alpha } from './alpha.ts'
import { beta } from './beta.ts'
import { embedded } from './embedded.ts'
import { gamma } from './gamma.ts'
import type { DatabaseKind, OpenDatabase } from './kind.ts'

export const SERVER_KINDS = { alpha, beta, gamma } as const
export const KINDS = { embedded, ...SERVER_KINDS } as const

/** Returns the kind of an open database, or of a transaction in one. */
export function kindOf(db: OpenDatabase): DatabaseKind {
  const { adapter } = db.getExecutor()
  const kind = Object.values<DatabaseKind>(KINDS).find((each) => adapter instanceof each.adapter)
  if (kind === undefined) throw new TypeError(`unknown database adapter: ${adapter.constructor.name}`)
  return kind
}
