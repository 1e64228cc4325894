import { killSignIns } from '../support/killed-sign-ins.ts'
import type { Rows } from './report.ts'

const ROUNDS = Number(process.env.LONG_ROUNDS ?? 50)

/** Sends `kill -9` to a host while users sign in. Throws if an acknowledged session is missing afterwards. */
export async function killedSignIns(rows: Rows): Promise<void> {
  const acknowledged = await killSignIns(ROUNDS)
  rows.tell('rounds, after each of which all acknowledged sessions were in the database', ROUNDS)
  rows.atLeast('sign-ins acknowledged before the kills', ROUNDS * 10, acknowledged)
}
