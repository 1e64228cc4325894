import { lookup } from 'node:dns/promises'
import { isPublicAddress } from '../../host/outbound/public-address.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { readHostPort } from '../../runtime/host-port.ts'

/** Asks for the addresses of a name. @throws where it has none that can be found here */
export type Resolve = (name: string) => Promise<readonly string[]>

const resolveHere: Resolve = async (name) => (await lookup(name, { all: true })).map(({ address }) => address)

/**
 * Refuses a registry on this machine or in a private network, which a member of any organisation can name, unless the operator
 * lists it. It keeps nobody from a name whose address changes afterwards, and the builder follows redirects by itself: its network
 * is the operator's to bound (SECURITY.md, "What stays open"). A name that is not found here is left to the builder, which may
 * have a proxy that finds it.
 *
 * @param place `host` or `host:port`; without a port 443
 * @param allowed `REGISTRY_ALLOWED_HOSTS`, as `host:port`
 * @throws ERR_OUTBOUND_PRIVATE
 */
export async function needPublicRegistry(
  place: string,
  allowed: readonly string[],
  resolve: Resolve = resolveHere,
): Promise<void> {
  const named = readHostPort(place)
  if (named === null) throw new PlatformError('ERR_OUTBOUND_PRIVATE', `"${place}" is no name of a registry.`)
  const { host, port } = named
  if (allowed.includes(`${host}:${port ?? 443}`)) return
  const addresses = await resolve(host.replace(/^\[|\]$/g, '')).catch(() => [])
  if (addresses.every(isPublicAddress)) return
  throw new PlatformError(
    'ERR_OUTBOUND_PRIVATE',
    `The registry "${place}" is on the control center's machine or in a private network. ` +
      `Its operator can allow it: REGISTRY_ALLOWED_HOSTS=${host}:${port ?? 443}.`,
  )
}

/** The registry that an image's name leads to; null: one that builders know without its name. */
export function registryOfImage(image: string): string | null {
  const [first = '', ...rest] = image.split('/')
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : null
}
