import type { Logger } from 'pino'
import { KeyAnswer } from '../../../base/protocol/protocol.ts'
import type { CloudSettings } from '../../config/cloud-settings.ts'
import { ANSWER_TIME, type AskCloud, jsonOf } from './cloud-requests.ts'
import type { NoAnswer } from './cloud-state.ts'
import type { KeptStates } from './kept-state.ts'

export type KeyParts = {
  readonly cloud: Pick<CloudSettings, 'publicKey'>
  readonly ask: AskCloud
  readonly kept: Pick<KeptStates, 'key' | 'keepKey'>
  readonly log: Pick<Logger, 'info'>
}

/**
 * The key that statements must be signed with: the configured key or, without one, the key stored on the first
 * connection.
 */
export async function knownKey({ cloud, ask, kept, log }: KeyParts, signal: AbortSignal): Promise<string | NoAnswer> {
  if (cloud.publicKey !== '') return cloud.publicKey
  const known = await kept.key()
  if (known !== null) return known
  const answer = await ask({ method: 'GET', path: 'key', maxBytes: 4096, timeout: ANSWER_TIME, signal })
  if (answer.kind === 'away' || answer.kind === 'barred') return answer
  const read = answer.kind === 'answer' ? KeyAnswer.safeParse(jsonOf(answer.body)) : null
  if (!read?.success) return { kind: 'barred', status: answer.kind === 'answer' ? answer.status : 200 }
  log.info({ publicKey: read.data.publicKey }, KEY_KEPT)
  return kept.keepKey(read.data.publicKey)
}

const KEY_KEPT =
  'stored the control center’s public key on the first connection. Compare it with the key on the control center’s Credentials page, or set CLOUD_PUBLIC_KEY to that key'
