import type { CompactVerifyResult } from 'jose'
import { storedHash } from '../../../base/database/stored-hash.ts'
import { DESIRED_TYPE, DesiredState, LONGEST_STATEMENT } from '../../../base/protocol/protocol.ts'

/** A desired state with a verified signature. */
export type Statement = {
  readonly state: DesiredState
  /** SHA-256 of the received text, to detect two different statements with the same number. */
  readonly hash: string
}

/**
 * Why a statement is rejected, in one sentence for the operators of the Satellite and the control center. A rejected
 * statement has no effect.
 */
export class StatementRefused extends Error {}

/**
 * Checks a statement's length, type and settings, and its Ed25519 signature by this key (RFC 8037). A statement may
 * contain only settings that a control center is allowed to change. `checkSuccession` checks the environment, and
 * whether the statement is new.
 * @param publicKey 32 bytes in base64url
 * @throws StatementRefused
 */
export async function readStatement(text: string, publicKey: string): Promise<Statement> {
  if (text.length > LONGEST_STATEMENT) {
    throw new StatementRefused(`the desired state has more than ${LONGEST_STATEMENT} characters`)
  }
  const { payload, protectedHeader } = await verified(text, publicKey)
  if (protectedHeader.typ !== DESIRED_TYPE) {
    throw new StatementRefused(`the signed document is not a desired state: its type is not "${DESIRED_TYPE}"`)
  }
  const checked = DesiredState.safeParse(parsed(payload))
  if (checked.success) return { state: checked.data, hash: storedHash(text) }
  const issue = checked.error.issues[0]
  const place = issue === undefined || issue.path.length === 0 ? 'the statement' : `"${issue.path.join('.')}"`
  throw new StatementRefused(
    `the desired state has a value that is invalid or that a control center is not allowed to set. ${place}: ${issue?.message}`.slice(
      0,
      500,
    ),
  )
}

async function verified(text: string, publicKey: string): Promise<CompactVerifyResult> {
  const { compactVerify, importJWK } = await import('jose')
  try {
    const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x: publicKey }, 'EdDSA')
    return await compactVerify(text, key, { algorithms: ['EdDSA'] })
  } catch {
    throw new StatementRefused(
      'the desired state is not signed with the key of this Satellite’s control center. If the control center was set up again, set ' +
        'CLOUD_PUBLIC_KEY to the key on its Credentials page',
    )
  }
}

function parsed(payload: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
  } catch {
    return null
  }
}

/** The last statement that the Satellite accepted for an environment. */
export type Taken = { readonly number: number; readonly hash: string }

/**
 * Checks that a statement is new and for this environment.
 * @param environment this Satellite's environment; null if it has none yet, or its token has changed
 * @param taken the last accepted statement; null if there is none
 * @returns false if the statement is the last accepted one
 * @throws StatementRefused if it is for another environment, is older, or differs from a statement with the same number
 */
export function checkSuccession({ state, hash }: Statement, environment: string | null, taken: Taken | null): boolean {
  if (environment !== null && state.environment !== environment) {
    throw new StatementRefused(
      `the desired state is for the environment ${state.environment}, but this Satellite belongs to ${environment}. To move the Satellite, set ` +
        'REMOTE_ENVIRONMENT_TOKEN to a token for that environment',
    )
  }
  if (taken === null || state.number > taken.number) return true
  if (state.number < taken.number) {
    throw new StatementRefused(
      `the desired state has the sequence number ${state.number}, which is lower than the last accepted one, ${taken.number}. If the control center was restored from a backup, start a new rollout`,
    )
  }
  if (hash === taken.hash) return false
  throw new StatementRefused(
    `a different desired state with the sequence number ${state.number} was already accepted. If the control center was restored from a backup, start a new rollout`,
  )
}
