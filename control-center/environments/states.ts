import { parsedJson } from '../../runtime/json.ts'
import { z } from '../../runtime/zod.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** The last reported state of an environment. */
export type EnvironmentState = {
  /** Whether the last report arrived less than `CONNECTED` ms ago. */
  readonly isConnected: boolean
  /** When the last report arrived, in epoch ms. */
  readonly lastSeenAt: number
  readonly version: string | null
  readonly health: z.infer<typeof Health> | null
}

export interface EnvironmentStates {
  /** @returns null if none of the environment's Satellites has ever connected */
  find(environment: string): Promise<EnvironmentState | null>
  /** The states of all environments in an organisation, by the environment's id. */
  ofOrganisation(organisation: string): Promise<ReadonlyMap<string, EnvironmentState>>
}

/**
 * An environment is shown as disconnected if its last report is this much older or newer than the current time, in ms.
 * Satellites report at least every 30 s.
 */
const CONNECTED = 120_000

/** The format in which the route `report` stores a Satellite's health. */
const Health = z.object({ health: z.enum(['good', 'warning', 'bad']), findings: z.array(z.string()) })

/** @param now returns the current time in epoch milliseconds */
export function createEnvironmentStates(db: CenterDatabase, now: () => number = Date.now): EnvironmentStates {
  function stateOf({ last_seen_at, version, health }: Row): EnvironmentState {
    // A time further in the future is from before the clock was set back.
    const isConnected = Math.abs(now() - last_seen_at) < CONNECTED
    return { isConnected, lastSeenAt: last_seen_at, version, health: healthOf(health) }
  }

  return {
    async find(environment) {
      const state = db.selectFrom('environment_states').selectAll().where('environment', '=', environment)
      const row = await state.executeTakeFirst()
      return row === undefined ? null : stateOf(row)
    },
    async ofOrganisation(organisation) {
      const rows = await db
        .selectFrom('environment_states')
        .innerJoin('environments', 'environments.id', 'environment_states.environment')
        .selectAll('environment_states')
        .where('environments.organisation', '=', organisation)
        .execute()
      return new Map(rows.map((row) => [row.environment, stateOf(row)]))
    },
  }
}

type Row = { last_seen_at: number; version: string | null; health: string | null }

function healthOf(text: string | null): EnvironmentState['health'] {
  return Health.safeParse(parsedJson(text ?? '')).data ?? null
}
