import type { PlatformKey } from '../../base/config/platform-key.ts'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { put } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { namesPlaceOf } from '../../runtime/host-port.ts'
import { z } from '../../runtime/zod.ts'
import type { HostDatabase } from '../database/tables.ts'

export const SecretName = z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/, {
  error: 'must be 1 to 64 capital letters, digits and "_", and start with a letter',
})

export type ListedSecret = { readonly name: string; readonly hosts: readonly string[] }

/**
 * Secrets that the operator stores for a solution. The manifest refers to them as `%%NAME%%`, and scripts never see the
 * values.
 */
export interface Secrets {
  list(solution: string): Promise<readonly ListedSecret[]>
  /**
   * @param hosts hosts that the value may be sent to, as `readGrantedHost` returns them; empty for a value that never
   * leaves the host
   * @throws ERR_REQUEST_INVALID if the solution has too many secrets
   */
  put(solution: string, name: string, value: string, hosts: readonly string[]): Promise<void>
  /** @returns false if there is no such secret */
  remove(solution: string, name: string): Promise<boolean>
  /**
   * The value, if it may be sent to `host`, which has the form of `URL.host`. The port defaults to 443, here and in the
   * secret's hosts.
   * @returns null if there is no such secret, or it may not be sent to that host
   */
  forHost(solution: string, name: string, host: string): Promise<string | null>
  /**
   * The value of a secret that never leaves the host, such as a key for checking signatures.
   * @returns null if there is no such secret, or it may be sent to a host
   */
  forHostItself(solution: string, name: string): Promise<string | null>
}

/** Maximum secrets per solution. */
const MOST_SECRETS = 100

/** @param now returns the current time in epoch milliseconds */
export function createSecrets(db: HostDatabase, key: PlatformKey, now: () => number = Date.now): Secrets {
  const purposeOf = (solution: string, name: string) => `secret ${solution} ${name}`

  async function list(solution: string): Promise<readonly ListedSecret[]> {
    const rows = await db
      .selectFrom('secrets')
      .select(['name', 'hosts'])
      .where('solution', '=', solution)
      .orderBy('name')
      .execute()
    return rows.map(({ name, hosts }) => ({ name, hosts: JSON.parse(hosts) as string[] }))
  }

  async function rowOf(solution: string, name: string) {
    const rows = db.selectFrom('secrets').select(['value', 'hosts']).where('solution', '=', solution)
    const row = await rows.where('name', '=', name).executeTakeFirst()
    return row === undefined ? null : { value: row.value, hosts: JSON.parse(row.hosts) as string[] }
  }

  return {
    list,
    async put(solution, name, value, hosts) {
      const others = (await list(solution)).filter((one) => one.name !== name)
      if (others.length >= MOST_SECRETS) {
        throw new PlatformError(
          'ERR_REQUEST_INVALID',
          `"${solution}" already has ${MOST_SECRETS} secrets, which is the maximum. Delete some first.`,
        )
      }
      const row = { value: key.encrypt(purposeOf(solution, name), value), hosts: JSON.stringify(hosts) }
      await put(db, 'secrets', ['solution', 'name'], { solution, name, updated_at: now(), ...row })
    },
    async remove(solution, name) {
      return deletedAny(db.deleteFrom('secrets').where('solution', '=', solution).where('name', '=', name))
    },
    async forHost(solution, name, host) {
      const row = await rowOf(solution, name)
      const place = URL.parse(`https://${host}/`)
      if (row === null || place === null || !namesPlaceOf(place, row.hosts)) return null
      return key.decrypt(purposeOf(solution, name), row.value)
    },
    async forHostItself(solution, name) {
      const row = await rowOf(solution, name)
      return row === null || row.hosts.length > 0 ? null : key.decrypt(purposeOf(solution, name), row.value)
    },
  }
}
