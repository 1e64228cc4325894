// Runs in the process of one embedded database. SQLite calls the authorizer for each action of a statement while
// compiling it. This is an allowlist, so features of later SQLite versions stay blocked.
import { constants } from 'node:sqlite'

export type Authorizer = {
  /** The callback for `DatabaseSync.setAuthorizer`. */
  readonly authorize: (action: number, one: string | null, two: string | null) => number
  /** Returns and clears the last rejection, as a message for the script's author; null if there was none. */
  readonly takeRefusal: () => string | null
  /** Permits the host's own statements, which begin and end the transaction around a query. */
  readonly asHost: <T>(work: () => T) => T
}

/**
 * The allowed actions. They exclude temporary tables, views and triggers, which would outlive the query and be visible
 * to the next user.
 */
const ACTIONS = new Set([
  constants.SQLITE_SELECT,
  constants.SQLITE_READ,
  constants.SQLITE_RECURSIVE,
  constants.SQLITE_INSERT,
  constants.SQLITE_UPDATE,
  constants.SQLITE_DELETE,
  constants.SQLITE_CREATE_TABLE,
  constants.SQLITE_CREATE_INDEX,
  constants.SQLITE_CREATE_VIEW,
  constants.SQLITE_CREATE_TRIGGER,
  constants.SQLITE_DROP_TABLE,
  constants.SQLITE_DROP_INDEX,
  constants.SQLITE_DROP_VIEW,
  constants.SQLITE_DROP_TRIGGER,
  constants.SQLITE_ALTER_TABLE,
  constants.SQLITE_REINDEX,
  constants.SQLITE_ANALYZE,
])

/** The allowed pragmas, which only read the schema. */
const PRAGMAS = new Set([
  'table_info',
  'table_xinfo',
  'table_list',
  'index_list',
  'index_info',
  'index_xinfo',
  'foreign_key_list',
])

const VIRTUAL_TABLES = new Set(['fts5', 'rtree', 'rtree_i32'])

/** Forbidden functions: they load code, accept code addresses, or write to the process log. */
const FUNCTIONS = new Set(['load_extension', 'fts3_tokenizer', 'sqlite_log'])

const NAMES: Readonly<Record<number, string>> = {
  [constants.SQLITE_ATTACH]: 'ATTACH and VACUUM are',
  [constants.SQLITE_DETACH]: 'DETACH is',
  [constants.SQLITE_TRANSACTION]: 'BEGIN, COMMIT and ROLLBACK are',
  [constants.SQLITE_SAVEPOINT]: 'SAVEPOINT is',
  [constants.SQLITE_CREATE_TEMP_TABLE]: 'temporary tables are',
  [constants.SQLITE_CREATE_TEMP_VIEW]: 'temporary views are',
  [constants.SQLITE_CREATE_TEMP_INDEX]: 'temporary indexes are',
  [constants.SQLITE_CREATE_TEMP_TRIGGER]: 'temporary triggers are',
}

export function createAuthorizer(): Authorizer {
  let refusal: string | null = null
  let isHost = false

  function refuse(what: string): number {
    refusal = `${what} not available in an embedded database`
    return constants.SQLITE_DENY
  }

  return {
    authorize(action, one, two) {
      if (isHost) return constants.SQLITE_OK
      if (action === constants.SQLITE_FUNCTION) {
        const isAllowed = two !== null && !FUNCTIONS.has(two.toLowerCase())
        return isAllowed ? constants.SQLITE_OK : refuse(`the function ${two} is`)
      }
      if (action === constants.SQLITE_PRAGMA) {
        const isAllowed = one !== null && PRAGMAS.has(one.toLowerCase())
        return isAllowed ? constants.SQLITE_OK : refuse(`PRAGMA ${one} is`)
      }
      if (action === constants.SQLITE_CREATE_VTABLE || action === constants.SQLITE_DROP_VTABLE) {
        const isAllowed = two !== null && VIRTUAL_TABLES.has(two.toLowerCase())
        return isAllowed ? constants.SQLITE_OK : refuse(`virtual tables of type ${two} are`)
      }
      return ACTIONS.has(action) ? constants.SQLITE_OK : refuse(NAMES[action] ?? 'this statement is')
    },
    takeRefusal() {
      const taken = refusal
      refusal = null
      return taken
    },
    asHost(work) {
      isHost = true
      try {
        return work()
      } finally {
        isHost = false
      }
    },
  }
}
