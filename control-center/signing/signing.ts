import { CompactSign, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { insertOnce } from '../../base/database/portable.ts'
import { DESIRED_TYPE, type DesiredState, LONGEST_STATEMENT } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { parsedJson } from '../../runtime/json.ts'
import { z } from '../../runtime/zod.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** Signs desired states for Satellites. */
export interface Signing {
  /** The Ed25519 public key: 32 bytes in base64url. A Satellite pins it in `CLOUD_PUBLIC_KEY`. */
  readonly publicKey: string
  /**
   * Returns a compact JWS (RFC 7515) with the algorithm EdDSA (RFC 8037) and the type `DESIRED_TYPE`. The same state
   * always produces the same statement.
   * @throws ERR_REQUEST_INVALID if it is longer than `LONGEST_STATEMENT`
   */
  sign(state: DesiredState): Promise<string>
}

/** The key's row in the table `platform`; also the purpose that it is encrypted for. */
const PLACE = 'center_signing_key'

const PrivateKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string().length(43),
  d: z.string(),
})

/**
 * Creates the key when the control center first starts, and stores it encrypted with the platform key. Someone with
 * only a copy of the database therefore can't sign anything.
 * @throws ERR_PLATFORM_KEY if the stored key can't be decrypted
 */
export async function openSigning(db: CenterDatabase, key: PlatformKey): Promise<Signing> {
  const jwk = (await kept(db, key)) ?? (await make(db, key))
  const secret = await importJWK(jwk as JWK, 'EdDSA')
  return {
    publicKey: jwk.x,
    async sign(state) {
      const payload = new TextEncoder().encode(JSON.stringify(state))
      const statement = await new CompactSign(payload)
        .setProtectedHeader({ alg: 'EdDSA', typ: DESIRED_TYPE })
        .sign(secret)
      if (statement.length <= LONGEST_STATEMENT) return statement
      const message = `The desired state would have ${statement.length} characters; at most ${LONGEST_STATEMENT} are allowed. Use fewer solutions or settings.`
      throw new PlatformError('ERR_REQUEST_INVALID', message)
    },
  }
}

async function kept(db: CenterDatabase, key: PlatformKey): Promise<z.infer<typeof PrivateKey> | null> {
  const row = await db.selectFrom('platform').select('value').where('key', '=', PLACE).executeTakeFirst()
  if (row === undefined) return null
  const read = PrivateKey.safeParse(parsedJson(key.decrypt(PLACE, row.value) ?? ''))
  if (read.success) return read.data
  throw new PlatformError(
    'ERR_PLATFORM_KEY',
    'The key that signs the desired states of Satellites cannot be decrypted. Restore the control center’s database from a backup.',
  )
}

/** If several processes start at the same time, only one of their keys is stored. */
async function make(db: CenterDatabase, key: PlatformKey): Promise<z.infer<typeof PrivateKey>> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const value = key.encrypt(PLACE, JSON.stringify(await exportJWK(privateKey)))
  await insertOnce(db, 'platform', { key: PLACE, value })
  const created = await kept(db, key)
  if (created === null) throw new TypeError('the new signing key was not stored')
  return created
}
