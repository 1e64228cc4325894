import { endOpenSignIns } from '../../base/accounts/open-sign-ins.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { personsFactors } from './confirmations.ts'

/** Ends the account's sessions, and its sign-ins that are waiting for a second step. */
export async function endAccess(db: CenterDatabase, sessions: Pick<Sessions, 'endOfUser'>, uid: string): Promise<void> {
  await Promise.all([sessions.endOfUser('users', uid), endOpenSignIns(db, personsFactors(uid))])
}
