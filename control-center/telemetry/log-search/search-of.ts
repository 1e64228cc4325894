import { kindOf } from '../../../base/database/kinds.ts'
import type { TelemetryDatabase } from '../database/tables.ts'
import { alphaSearch } from './alpha.ts'
import { embeddedSearch } from './embedded.ts'
import type { LogSearch } from './log-search.ts'

export function logSearchOf(db: TelemetryDatabase): LogSearch {
  return kindOf(db).name === 'embedded' ? embeddedSearch : alphaSearch
}
