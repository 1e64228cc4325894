import { isLoopback } from '../http/sites.ts'
import type { Property } from './properties.ts'
import type { Value } from './property-groups.ts'

/** The environment properties that connect a host to its control center. */
export const CLOUD_PROPERTIES = {
  CLOUD_URL: {
    default: '',
    read: (text) => (text === '' ? null : readCloud(text)),
    form: 'an https origin such as https://cloud.example.org, without a path; http only on loopback',
    what: 'the control center, which this host connects to with ENVIRONMENT=onprem and REMOTE_ENVIRONMENT_TOKEN',
  },
  REMOTE_ENVIRONMENT_TOKEN: {
    default: '',
    read: (text) => (/^[\x21-\x7e]{0,4096}$/.test(text) ? text : undefined),
    form: 'at most 4096 printable ASCII characters without spaces',
    what: 'token of the control center’s Credentials page: connects this host to it',
    secret: true,
  },
  CLOUD_PUBLIC_KEY: {
    default: '',
    read: (text) => (text === '' || /^[A-Za-z0-9_-]{43}$/.test(text) ? text : undefined),
    form: 'the 43 characters that the Credentials page of the control center shows; empty: the key of the first contact is kept',
    what: 'public key (Ed25519) that what the control center wants of this host must be signed with',
  },
} as const satisfies Record<string, Property>

/** Where a Satellite's control center is, and how the two know one another (design section 9). */
export type CloudSettings = {
  readonly url: URL
  /** `REMOTE_ENVIRONMENT_TOKEN` */
  readonly token: string
  /** `CLOUD_PUBLIC_KEY`, an Ed25519 key as 32 bytes in base64url; empty: the one of the first contact is kept. */
  readonly publicKey: string
}

/** Null without `ENVIRONMENT=onprem`, `REMOTE_ENVIRONMENT_TOKEN` and `CLOUD_URL`. */
export function cloudSettingsOf(value: Value): CloudSettings | null {
  const [url, token] = [value('CLOUD_URL'), value('REMOTE_ENVIRONMENT_TOKEN') as string]
  if (value('ENVIRONMENT') !== 'onprem' || token === '' || !(url instanceof URL)) return null
  return { url, token, publicKey: value('CLOUD_PUBLIC_KEY') as string }
}

/** A token goes there: encrypted, but to this machine itself. */
function readCloud(text: string): URL | undefined {
  const url = URL.parse(text)
  const isOrigin =
    url !== null && url.pathname === '/' && `${url.username}${url.password}${url.search}${url.hash}` === ''
  if (!isOrigin) return undefined
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)) ? url : undefined
}
