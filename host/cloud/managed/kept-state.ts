import { createBriefCache } from '../../../base/database/brief-cache.ts'
import type { Database } from '../../../base/database/open.ts'
import { insertOnce, put } from '../../../base/database/portable.ts'
import { DesiredSettings, DesiredState, SolutionResult } from '../../../base/protocol/protocol.ts'
import { z } from '../../../runtime/zod.ts'
import type { Taken } from './statement.ts'
import type { TakenFile } from './taken-file.ts'

const KeptState = z.object({
  environment: z.uuid(),
  /** `storedHash` of the token that it was taken with, and the key that it was signed with. */
  token: z.string(),
  key: z.string(),
  /** The last statement that was taken. */
  state: DesiredState,
  /** How the last one that was tried to its end came out; `number` can be lower than that of `state`. */
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
/** What the control center asked of this Satellite, as all of its nodes keep it. */
export type KeptState = z.infer<typeof KeptState>

/**
 * What is kept of the control center in the platform's database: it holds on all nodes, and after a restart without the
 * control center.
 */
export interface KeptStates {
  /** Null: nothing was ever taken. What cannot be read counts as nothing; the numbers below still hold. */
  get(): Promise<KeptState | null>
  /** The same, held for at most 1 s; a change on this node counts at once. */
  getBriefly(): Promise<KeptState | null>
  put(state: KeptState): Promise<void>
  /**
   * Of each environment for ever: who moves to another one and back takes no old statement. It is the higher of what the
   * database knows and what this node knows by itself, which is brought up to it.
   */
  taken(environment: string): Promise<Taken | null>
  putTaken(environment: string, taken: Taken): Promise<void>
  /** The key of the first contact; null before it. */
  key(): Promise<string | null>
  /** @returns the one that is kept from now on: another node may have been first */
  keepKey(key: string): Promise<string>
}

const STATE = 'cloud_state'
const KEY = 'cloud_key'
const takenOf = (environment: string) => `cloud_taken ${environment}`
const TakenRow = z.object({ number: z.int(), hash: z.string() })

export function createKeptStates(db: Database, file: TakenFile): KeptStates {
  async function value(key: string): Promise<string | null> {
    const row = await db.selectFrom('platform').select('value').where('key', '=', key).executeTakeFirst()
    return row?.value ?? null
  }

  async function get(): Promise<KeptState | null> {
    return KeptState.safeParse(parsed(await value(STATE))).data ?? null
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
      const row = TakenRow.safeParse(parsed(await value(takenOf(environment)))).data ?? null
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

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}
