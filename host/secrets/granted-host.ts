import { readHostPort } from '../../runtime/host-port.ts'
import { z } from '../../runtime/zod.ts'

/**
 * Normalises a granted host to the form in which it is stored and shown: `api.example.org`, `10.0.0.7:8443`,
 * `[fd00::1]:443`.
 * @returns null if the text is not a host name or address with an optional port; patterns such as `*.example.org` are
 * invalid
 */
export function readGrantedHost(text: string): string | null {
  const read = readHostPort(text)
  if (read === null || !/^(\[[0-9a-f:.]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)$/.test(read.host)) return null
  return read.port === null ? read.host : `${read.host}:${read.port}`
}

/** A host in API input. The schema returns it in the normalised form. */
const GrantedHost = z
  .string()
  .max(260)
  .refine((text) => readGrantedHost(text) !== null, {
    error: 'must be a host name or address with an optional port, such as api.example.org or 10.0.0.7:8443',
  })
  .overwrite((text) => readGrantedHost(text) ?? text)

export const GrantedHosts = z
  .array(GrantedHost)
  .max(1000)
  .overwrite((hosts) => [...new Set(hosts)])
