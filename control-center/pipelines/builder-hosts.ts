import { isLoopback } from '../../base/config/host-names.ts'
import {
  type Address,
  type AddressRules,
  type CheckedAddresses,
  createCheckedAddresses,
} from '../../base/outbound/checked-addresses.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { readHostPort } from '../../runtime/host-port.ts'

/** The hosts that pipelines may connect to: registries, and hosts that registries redirect a builder to. */
export interface BuilderHosts {
  /**
   * Resolves a host once and returns the addresses that a builder may connect to. Members of any organisation can enter
   * a host. So addresses of this machine and of private networks are rejected unless the operator lists the host.
   * @throws ERR_OUTBOUND_PRIVATE, with the entry that the operator can add to the list
   * @throws the resolver's error if the name can't be resolved here
   */
  addresses(host: string, port: number): Promise<readonly Address[]>
  /**
   * Checks a registry before a run connects to it, so that the run fails early with a clear error. A name that can't be
   * resolved here passes, because the builder's proxy may use an upstream proxy that can resolve it.
   * @param place `host` or `host:port`; the port defaults to 443
   * @throws ERR_OUTBOUND_PRIVATE
   */
  needPublic(place: string): Promise<void>
  /** Whether `REGISTRY_ALLOWED_HOSTS` contains the host with this port. */
  isListed(host: string, port: number): boolean
  /** The hosts in `REGISTRY_ALLOWED_HOSTS` that are on loopback, as `host:port`. */
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
        `"${place}" is on the control center’s machine or in a private network, so pipelines are not allowed to connect to it. ` +
          `To allow it, the operator can add ${place} to ${setting}.`,
      )
    }
  }

  return {
    addresses,
    onLoopback: allowed.filter((place) => isLoopback(place.replace(/:\d+$/, ''))),
    isListed: (host, port) => allowed.includes(`${host}:${port}`),
    async needPublic(place) {
      const named = readHostPort(place)
      if (named === null)
        throw new PlatformError(
          'ERR_OUTBOUND_PRIVATE',
          `"${place}" is not a registry. Use a host name, with a port if needed, such as registry.example.org.`,
        )
      try {
        await addresses(named.host, named.port ?? 443)
      } catch (error) {
        if (error instanceof PlatformError && error.code === 'ERR_OUTBOUND_PRIVATE') throw error
      }
    },
  }
}

/**
 * The registry in an image's name; null if the name doesn't include one. The builder then uses its default registry.
 */
export function registryOfImage(image: string): string | null {
  const [first = '', ...rest] = image.split('/')
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : null
}
