import { killUploads } from '../support/killed-uploads.ts'
import type { Rows } from './report.ts'

const ROUNDS = Number(process.env.LONG_ROUNDS ?? 50)

/**
 * Sends `kill -9` to a host at a random point during an upload. Throws if the active version afterwards is neither the
 * old nor the new one.
 */
export async function killedUploads(rows: Rows): Promise<void> {
  rows.tell('rounds, each of which left the old or the new version', ROUNDS)
  rows.atLeast('uploads that the kill interrupted', ROUNDS / 4, await killUploads(ROUNDS))
}
