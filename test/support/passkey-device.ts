import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { Visitor } from './http.ts'

/** The parts of a passkey response to forge. All other parts are correct. */
export type Forged = {
  readonly challenge?: string
  readonly type?: string
  readonly origin?: string
  readonly crossOrigin?: boolean
  readonly topOrigin?: string
  readonly rpId?: string
  /** The authenticator's flags: user present, user verified, backup eligible, backup state. */
  readonly flags?: { readonly up?: boolean; readonly uv?: boolean; readonly be?: boolean; readonly bs?: boolean }
  readonly counter?: number
  readonly userHandle?: string | null
  readonly credentialId?: string
  /** A different key to sign with. */
  readonly key?: KeyObject
}

type Options = {
  readonly challenge: string
  readonly rp?: { readonly id: string }
  readonly rpId?: string
  readonly user?: { readonly id: string }
}

/** Simulates a passkey, and the part of a browser that builds the responses. */
export function createPasskeyDevice(origin: string, { idLength = 32 }: { readonly idLength?: number } = {}) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ownId = randomBytes(idLength).toString('base64url')
  let userHandle = ''

  function clientData(type: string, { challenge }: Options, forged: Forged): Buffer {
    const { crossOrigin = false, topOrigin } = forged
    const data = {
      type: forged.type ?? type,
      challenge: forged.challenge ?? challenge,
      origin: forged.origin ?? origin,
    }
    return Buffer.from(JSON.stringify({ ...data, crossOrigin, ...(topOrigin === undefined ? {} : { topOrigin }) }))
  }

  function authenticatorData(rpId: string, { flags = {}, counter = 0 }: Forged, attested: Buffer | null): Buffer {
    const { up = true, uv = true, be = false, bs = false } = flags
    const bits = (up ? 1 : 0) | (uv ? 4 : 0) | (be ? 8 : 0) | (bs ? 16 : 0) | (attested === null ? 0 : 64)
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    const parts = [createHash('sha256').update(rpId).digest(), Buffer.from([bits]), count]
    return Buffer.concat(attested === null ? parts : [...parts, attested])
  }

  const answer = (id: string, response: object) =>
    JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response })

  return {
    id: ownId,
    /**
     * Creates the passkey.
     * @param json the options for `navigator.credentials.create`
     * @returns the response as JSON
     */
    create(json: string, forged: Forged = {}): string {
      const options = JSON.parse(json) as Options
      userHandle = options.user?.id ?? ''
      const id = Buffer.from(forged.credentialId ?? ownId, 'base64url')
      const length = Buffer.alloc(2)
      length.writeUInt16BE(id.length)
      const attested = Buffer.concat([Buffer.alloc(16), length, id, coseKey(publicKey)])
      const data = authenticatorData(forged.rpId ?? options.rp?.id ?? '', forged, attested)
      const clientDataJSON = clientData('webauthn.create', options, forged).toString('base64url')
      const attestationObject = attestation(data).toString('base64url')
      return answer(forged.credentialId ?? ownId, { clientDataJSON, attestationObject, transports: ['internal'] })
    },
    /**
     * Signs in with the passkey.
     * @param json the options for `navigator.credentials.get`
     * @returns the response as JSON
     */
    get(json: string, forged: Forged = {}): string {
      const options = JSON.parse(json) as Options
      const data = authenticatorData(forged.rpId ?? options.rpId ?? '', forged, null)
      const client = clientData('webauthn.get', options, forged)
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()])
      const handle = forged.userHandle === undefined ? userHandle : forged.userHandle
      return answer(forged.credentialId ?? ownId, {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', signed, forged.key ?? privateKey).toString('base64url'),
        ...(handle === null ? {} : { userHandle: handle }),
      })
    },
  }
}

export type PasskeyDevice = ReturnType<typeof createPasskeyDevice>

/** Returns the passkey options that a page contains for its script, as JSON; null if there are none. */
export function passkeyOptionsIn(html: string): string | null {
  const found = /data-passkey="([^"]+)"/.exec(html)?.[1]
  return found === undefined ? null : found.replaceAll('&#34;', '"').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}

/** Adds a passkey on the account page. The user must have just signed in. */
export async function addPasskey(browser: Pick<Visitor, 'get' | 'post'>, solution: string, own: PasskeyDevice) {
  const path = `/solution/${solution}/account`
  await browser.get(path)
  const options = passkeyOptionsIn((await browser.post(path, { act: 'new-passkey' })).text)
  if (options === null) throw new Error('the page offers no passkey')
  return { own, added: await browser.post(path, { act: 'add-passkey', passkey: own.create(options) }) }
}

/**
 * Encodes the public key in CBOR: {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}.
 * @see RFC 9052, section 7
 */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const bytes = (text: string) => Buffer.concat([Buffer.from([0x58, 0x20]), Buffer.from(text, 'base64url')])
  return Buffer.concat([
    Buffer.from('a50102032620 01 21'.replaceAll(' ', ''), 'hex'),
    bytes(x),
    Buffer.from([0x22]),
    bytes(y),
  ])
}

/** Encodes {"fmt": "none", "attStmt": {}, "authData": bytes} in CBOR. */
function attestation(data: Buffer): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)])
  const size = Buffer.alloc(2)
  size.writeUInt16BE(data.length)
  const authData = [text('authData'), Buffer.from([0x59]), size, data]
  return Buffer.concat([
    Buffer.from([0xa3]),
    text('fmt'),
    text('none'),
    text('attStmt'),
    Buffer.from([0xa0]),
    ...authData,
  ])
}
