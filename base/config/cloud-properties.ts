import { isLoopback } from './host-names.ts'
import type { Property } from './property.ts'

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

/** A token goes there: encrypted, but to this machine itself. */
function readCloud(text: string): URL | undefined {
  const url = URL.parse(text)
  const isOrigin =
    url !== null && url.pathname === '/' && `${url.username}${url.password}${url.search}${url.hash}` === ''
  if (!isOrigin) return undefined
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)) ? url : undefined
}
