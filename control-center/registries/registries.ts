import { randomUUID } from 'node:crypto'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { insertOnce, isUniqueViolation } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { isElastic, regionOf } from './elastic.ts'
import type { RegistryTables } from './tables.ts'

/** An organisation's image registry, without its credentials. Times are epoch ms. */
export type Registry = {
  readonly id: string
  readonly name: string
  /** The registry's host name: `{registry_host}` in the deployment procedure, including the region. */
  readonly host: string
  /** `<region-name>`; '' for registries other than Amazon ECR. */
  readonly region: string
  /** `<namespace-name>`, the folder in the registry that contains the repositories. */
  readonly namespace: string
  /** The username for the registry; null for Amazon ECR. */
  readonly username: string | null
  /**
   * The last characters of the access key ID, so that users can distinguish keys. Null for registries other than Amazon
   * ECR.
   */
  readonly keyEnd: string | null
  readonly createdAt: number
  readonly changedAt: number
}

/** Credentials for Amazon ECR. */
export type AccessKeys = { readonly accessKeyId: string; readonly secretAccessKey: string }
/** Credentials for any other registry: a user, robot account or deploy token, with its password or token. */
export type RegistryLogin = { readonly username: string; readonly password: string }
export type RegistryKeys = AccessKeys | RegistryLogin

export type NewRegistry = Pick<Registry, 'name' | 'host' | 'namespace'> & { readonly keys: RegistryKeys }

/**
 * The registries that pipelines push images to, and that Satellites pull images from. `organisation` is always the
 * organisation's id.
 */
export interface Registries {
  /** @returns the organisation's registries, sorted by name */
  list(organisation: string): Promise<readonly Registry[]>
  find(organisation: string, id: string): Promise<Registry | null>
  /**
   * Returns the registry with its credentials; null if there is no such registry. Use them only to connect to the
   * registry. Never include them in a response, a page or a log.
   */
  secret(organisation: string, id: string): Promise<RegistryKeys | null>
  /** @throws ERR_NAME_EXISTS, or ERR_REQUEST_INVALID if there are too many registries */
  create(organisation: string, wanted: NewRegistry): Promise<Registry>
  /**
   * Chosen here: the credentials are always required. Otherwise, anyone who may change the host could have the stored
   * credentials sent to their own server.
   * @throws ERR_NOT_FOUND, ERR_NAME_EXISTS
   */
  replace(organisation: string, id: string, wanted: NewRegistry): Promise<Registry>
  /** @throws ERR_NOT_FOUND */
  remove(organisation: string, id: string): Promise<Registry>
}

const SHOWN = 4
/** Maximum registries per organisation. */
const MOST_REGISTRIES = 100

/** @param now returns the current time in epoch milliseconds */
export function createRegistries(db: CenterDatabase, key: PlatformKey, now: () => number = Date.now): Registries {
  function columnsOf(id: string, { name, host, namespace, keys }: NewRegistry) {
    const [first, secret] =
      'username' in keys ? [keys.username, keys.password] : [keys.accessKeyId, keys.secretAccessKey]
    return {
      name,
      host,
      region: regionOf(host),
      namespace,
      key_end: first.slice(-SHOWN),
      access_key_id: key.encrypt(purposeOf(id, 'id'), first),
      secret_access_key: key.encrypt(purposeOf(id, 'secret'), secret),
      changed_at: now(),
    }
  }

  function rowOf(organisation: string, id: string) {
    return db.selectFrom('registries').selectAll().where('organisation', '=', organisation).where('id', '=', id)
  }

  function registryOf(row: Omit<RegistryTables['registries'], 'organisation'>): Registry {
    const { id, name, host, namespace, created_at, changed_at } = row
    const own = isElastic(host)
      ? { region: row.region, username: null, keyEnd: row.key_end }
      : { region: '', username: key.decrypt(purposeOf(id, 'id'), row.access_key_id) ?? '', keyEnd: null }
    return { id, name, host, namespace, ...own, createdAt: created_at, changedAt: changed_at }
  }

  async function need(organisation: string, id: string): Promise<Registry> {
    const row = await rowOf(organisation, id).executeTakeFirst()
    if (row !== undefined) return registryOf(row)
    throw new PlatformError(
      'ERR_NOT_FOUND',
      `There is no registry with the id "${id.slice(0, 100)}". It may have been deleted.`,
    )
  }

  async function refuseTooMany(organisation: string): Promise<void> {
    const { count } = await db
      .selectFrom('registries')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('organisation', '=', organisation)
      .executeTakeFirstOrThrow()
    if (Number(count) < MOST_REGISTRIES) return
    throw new PlatformError(
      'ERR_REQUEST_INVALID',
      `An organisation can have at most ${MOST_REGISTRIES} registries. Delete one first.`,
    )
  }

  return {
    async list(organisation) {
      const all = db.selectFrom('registries').selectAll().where('organisation', '=', organisation)
      return (await all.orderBy('name').execute()).map(registryOf)
    },
    async find(organisation, id) {
      const row = await rowOf(organisation, id).executeTakeFirst()
      return row === undefined ? null : registryOf(row)
    },
    async secret(organisation, id) {
      const row = await rowOf(organisation, id).executeTakeFirst()
      if (row === undefined) return null
      const first = key.decrypt(purposeOf(id, 'id'), row.access_key_id)
      const secret = key.decrypt(purposeOf(id, 'secret'), row.secret_access_key)
      if (first !== null && secret !== null) {
        return isElastic(row.host)
          ? { accessKeyId: first, secretAccessKey: secret }
          : { username: first, password: secret }
      }
      throw new PlatformError(
        'ERR_PLATFORM_KEY',
        `The password or access keys of the registry "${row.name}" cannot be decrypted with the platform’s key. Enter them again in the registry’s settings.`,
      )
    },
    async create(organisation, wanted) {
      await refuseTooMany(organisation)
      const id = randomUUID()
      const row = { id, organisation, ...columnsOf(id, wanted), created_at: now() }
      if (await insertOnce(db, 'registries', row)) return registryOf(row)
      throw nameExists(wanted.name)
    },
    async replace(organisation, id, wanted) {
      await need(organisation, id)
      const update = db.updateTable('registries').set(columnsOf(id, wanted))
      await update
        .where('organisation', '=', organisation)
        .where('id', '=', id)
        .execute()
        .catch((error: unknown) => {
          throw isUniqueViolation(error) ? nameExists(wanted.name) : error
        })
      return need(organisation, id)
    },
    async remove(organisation, id) {
      const registry = await need(organisation, id)
      await db.deleteFrom('registries').where('organisation', '=', organisation).where('id', '=', id).execute()
      return registry
    },
  }
}

/**
 * Returns the purpose that a value is encrypted for. Each value has a different purpose, so that someone with access
 * only to the database can't swap encrypted values.
 */
function purposeOf(id: string, part: 'id' | 'secret'): string {
  return `registry ${id} ${part}`
}

function nameExists(name: string): PlatformError {
  return new PlatformError('ERR_NAME_EXISTS', `There is already a registry "${name}". Choose another name.`)
}
