import { insertOnce, put } from '../../../base/database/portable.ts'
import { DesiredSettings, DesiredState, SolutionResult } from '../../../base/protocol/protocol.ts'
import { parsedJson } from '../../../runtime/json.ts'
import { z } from '../../../runtime/zod.ts'
import { createBriefCache } from '../../database/brief-cache.ts'
import type { HostDatabase } from '../../database/tables.ts'
import type { Taken } from './statement.ts'
import type { TakenFile } from './taken-file.ts'

const KeptState = z.object({
  environment: z.uuid(),
  /**
   * `token` is the `storedHash` of the token that was in use when the statement was accepted. `key` is the key that
   * signed the statement.
   */
  token: z.string(),
  key: z.string(),
  /** The last accepted statement. */
  state: DesiredState,
  /** The result of the last statement that was fully processed. Its `number` can be lower than the one in `state`. */
  done: z
    .object({
      number: z.int(),
      outcome: z.enum(['applied', 'failed']),
      results: z.array(SolutionResult),
      /** Epoch ms. */
      at: z.int(),
    })
    .nullable(),
  settings: DesiredSettings,
})
/** The desired state from the control center, shared by all nodes of this Satellite. */
export type KeptState = z.infer<typeof KeptState>

/**
 * Stores the desired state in the platform's database. So the state applies on all nodes, even after a restart while
 * the control center is unreachable.
 */
export interface KeptStates {
  /**
   * @returns null if no statement was ever accepted, or the stored one is unreadable. Even then, `taken` returns the
   *   sequence number
   */
  get(): Promise<KeptState | null>
  /** Like `get`, but cached for at most 1 s. Changes on this node apply immediately. */
  getBriefly(): Promise<KeptState | null>
  put(state: KeptState): Promise<void>
  /**
   * The highest sequence number that was accepted for an environment. It is stored in the database and in this node's
   * file. If they differ, the higher number applies, and a lower number in the file is updated. Numbers are never
   * deleted. So a Satellite that moves to another environment and back still rejects old statements.
   */
  taken(environment: string): Promise<Taken | null>
  putTaken(environment: string, taken: Taken): Promise<void>
  /** The control center's key, which is stored on the first connection; null before that. */
  key(): Promise<string | null>
  /** @returns the stored key; it is a different key if another node stored one first */
  keepKey(key: string): Promise<string>
}

const STATE = 'cloud_state'
const KEY = 'cloud_key'
const takenOf = (environment: string) => `cloud_taken ${environment}`
const TakenRow = z.object({ number: z.int(), hash: z.string() })

export function createKeptStates(db: HostDatabase, file: TakenFile): KeptStates {
  async function value(key: string): Promise<string | null> {
    const row = await db.selectFrom('platform').select('value').where('key', '=', key).executeTakeFirst()
    return row?.value ?? null
  }

  async function get(): Promise<KeptState | null> {
    return KeptState.safeParse(parsedJson((await value(STATE)) ?? '')).data ?? null
  }

  const cache = createBriefCache(get)
  return {
    get,
    getBriefly: () => cache.get(STATE),
    async put(state) {
      await put(db, 'platform', ['key'], { key: STATE, value: JSON.stringify(state) })
      cache.forget(STATE)
    },
    async taken(environment) {
      const row = TakenRow.safeParse(parsedJson((await value(takenOf(environment))) ?? '')).data ?? null
      const own = await file.get(environment)
      if (own !== null && own.number > (row?.number ?? -1)) return own
      if (row !== null) await file.raise(environment, row)
      return row
    },
    async putTaken(environment, taken) {
      await file.raise(environment, taken)
      await put(db, 'platform', ['key'], { key: takenOf(environment), value: JSON.stringify(taken) })
    },
    key: () => value(KEY),
    async keepKey(key) {
      await insertOnce(db, 'platform', { key: KEY, value: key })
      return (await value(KEY)) ?? key
    },
  }
}
