import { isLoopback } from '../../base/config/host-names.ts'
import {
  type Address,
  type AddressRules,
  type CheckedAddresses,
  createCheckedAddresses,
} from '../../base/outbound/checked-addresses.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { readHostPort } from '../../runtime/host-port.ts'

/** Which hosts pipelines may speak to: registries, and those that registries lead a builder on to. */
export interface BuilderHosts {
  /**
   * The addresses of a host, looked up once, that may be connected to. Those of this machine and of private networks may not,
   * which a member of any organisation can name, unless the operator lists the host.
   * @throws ERR_OUTBOUND_PRIVATE, which says what the operator can list
   * @throws whatever the look-up does for a name that is not found here
   */
  addresses(host: string, port: number): Promise<readonly Address[]>
  /**
   * The same for a registry before a run speaks to it, so that it fails at once and says why. A name that is not found here is
   * left to the builder's proxy, which may have another one that finds it.
   * @param place `host` or `host:port`; without a port 443
   * @throws ERR_OUTBOUND_PRIVATE
   */
  needPublic(place: string): Promise<void>
  /** Whether the operator lists the host. */
  isListed(host: string, port: number): boolean
  /** Those on loopback that the operator lists, as `host:port`. */
  readonly onLoopback: readonly string[]
}

/** @param allowed `REGISTRY_ALLOWED_HOSTS`, as `host:port` */
export function createBuilderHosts(
  allowed: readonly string[],
  more: Pick<AddressRules, 'lookUp' | 'ownAddresses'> = {},
): BuilderHosts {
  const setting = 'REGISTRY_ALLOWED_HOSTS'
  const checked: CheckedAddresses = createCheckedAddresses({ allowedPrivate: allowed, setting, ...more })

  async function addresses(host: string, port: number): Promise<readonly Address[]> {
    const place = `${host}:${port}`
    try {
      return await checked({ host: host.replace(/^\[|\]$/g, ''), place })
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'ERR_OUTBOUND_PRIVATE') throw error
      throw new PlatformError(
        'ERR_OUTBOUND_PRIVATE',
        `"${place}" is on the control center's machine or in a private network. ` +
          `Its operator can allow it: ${setting}=${place}.`,
      )
    }
  }

  return {
    addresses,
    onLoopback: allowed.filter((place) => isLoopback(place.replace(/:\d+$/, ''))),
    isListed: (host, port) => allowed.includes(`${host}:${port}`),
    async needPublic(place) {
      const named = readHostPort(place)
      if (named === null) throw new PlatformError('ERR_OUTBOUND_PRIVATE', `"${place}" is no name of a registry.`)
      try {
        await addresses(named.host, named.port ?? 443)
      } catch (error) {
        if (error instanceof PlatformError && error.code === 'ERR_OUTBOUND_PRIVATE') throw error
      }
    },
  }
}

/** The registry that an image's name leads to; null: one that builders know without its name. */
export function registryOfImage(image: string): string | null {
  const [first = '', ...rest] = image.split('/')
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : null
}
