import { isLoopback } from './host-names.ts'
import type { Property } from './property.ts'

/** The environment variables that connect a host to its control center. */
export const CLOUD_PROPERTIES = {
  CLOUD_URL: {
    default: '',
    read: (text) => (text === '' ? null : readCloud(text)),
    form: 'an https origin such as https://cloud.example.org, without a path; http is allowed only on loopback',
    what: 'URL of the control center; requires ENVIRONMENT=onprem and REMOTE_ENVIRONMENT_TOKEN',
  },
  REMOTE_ENVIRONMENT_TOKEN: {
    default: '',
    read: (text) => (/^[\x21-\x7e]{0,4096}$/.test(text) ? text : undefined),
    form: 'at most 4096 printable ASCII characters without spaces',
    what: 'token from the control center’s Credentials page, to connect this host to it',
    secret: true,
  },
  CLOUD_PUBLIC_KEY: {
    default: '',
    read: (text) => (text === '' || /^[A-Za-z0-9_-]{43}$/.test(text) ? text : undefined),
    form: 'the 43-character key on the control center’s Credentials page; if not set, the host trusts the key that it receives on its first connection',
    what: 'public key (Ed25519) that verifies the desired state sent by the control center',
  },
} as const satisfies Record<string, Property>

/** http is allowed only on loopback, because the token is sent over this connection. */
function readCloud(text: string): URL | undefined {
  const url = URL.parse(text)
  const isOrigin =
    url !== null && url.pathname === '/' && `${url.username}${url.password}${url.search}${url.hash}` === ''
  if (!isOrigin) return undefined
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)) ? url : undefined
}
