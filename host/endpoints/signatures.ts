import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { SIGNATURE_SCHEMES } from '../../runtime/bundle/endpoint-schema.ts'

export type SignatureScheme = (typeof SIGNATURE_SCHEMES)[number]

/** A request's signature, parsed from its headers. */
export type SignatureHeaders = {
  /** The text that precedes the body in the signed content. */
  readonly prefix: string
  /** The HMACs in the header. The signature is valid if any of them matches. */
  readonly macs: readonly Buffer[]
  /** The signature's time in epoch ms; null if the scheme has none. */
  readonly time: number | null
}

/** Maximum number of signatures in a request. Senders send two while they replace a secret. */
const MOST_MACS = 10
/** Maximum difference between the signature's time and the host's clock, in ms. */
export const TOLERANCE = 5 * 60_000

const HEADERS: Readonly<Record<SignatureScheme, string>> = {
  stripe: 'stripe-signature',
  github: 'x-hub-signature-256',
  standard: 'webhook-signature',
}

const READERS: Readonly<Record<SignatureScheme, (headers: IncomingHttpHeaders) => SignatureHeaders | null>> = {
  /** @see https://docs.stripe.com/webhooks#verify-manually */
  stripe(headers) {
    const pairs = listOf(headers[HEADERS.stripe], ',').map((pair) => pair.trim().split('=', 2))
    const time = pairs.find(([name]) => name === 't')?.[1] ?? ''
    const macs = pairs.filter(([name]) => name === 'v1').map(([, value = '']) => value)
    return signed(`${time}.`, macs, hexMac, time)
  },
  /** @see https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
  github(headers) {
    const macs = listOf(headers[HEADERS.github], ',').map((value) => value.trim().replace(/^sha256=/, ''))
    return signed('', macs, hexMac, null)
  },
  /** @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
  standard(headers) {
    const { 'webhook-id': id, 'webhook-timestamp': time } = headers
    if (typeof id !== 'string' || typeof time !== 'string' || !/^[^.\s]{1,256}$/.test(id)) return null
    const macs = listOf(headers[HEADERS.standard], ' ').flatMap((value) => /^v1,(.*)$/.exec(value)?.[1] ?? [])
    return signed(`${id}.${time}.`, macs, base64Mac, time)
  },
}

/** Whether the request has the scheme's signature header, valid or not. */
export function hasSignature(scheme: SignatureScheme, headers: IncomingHttpHeaders): boolean {
  return headers[HEADERS[scheme]] !== undefined
}

/** @returns null if the headers have no well-formed signature, or its time is not within `TOLERANCE` */
export function readSignature(
  scheme: SignatureScheme,
  headers: IncomingHttpHeaders,
  now: number,
): SignatureHeaders | null {
  const read = READERS[scheme](headers)
  if (read === null || (read.time !== null && Math.abs(now - read.time) > TOLERANCE)) return null
  return read
}

/**
 * Compares in constant time.
 * @returns the HMAC in hexadecimal; null if no signature matches it
 */
export function verifySignature(
  scheme: SignatureScheme,
  { prefix, macs }: SignatureHeaders,
  secret: string,
  body: Uint8Array,
): string | null {
  const key = keyOf(scheme, secret)
  if (key.length === 0) return null
  const expected = createHmac('sha256', key).update(prefix).update(body).digest()
  let isRight = false
  for (const mac of macs) isRight = timingSafeEqual(mac, expected) || isRight
  return isRight ? expected.toString('hex') : null
}

/** Secrets of Standard Webhooks are in base64. */
function keyOf(scheme: SignatureScheme, secret: string): Buffer {
  return scheme === 'standard' ? Buffer.from(secret.replace(/^whsec_/, ''), 'base64') : Buffer.from(secret)
}

function signed(
  prefix: string,
  macs: readonly string[],
  decode: (mac: string) => Buffer | null,
  seconds: string | null,
): SignatureHeaders | null {
  if (seconds !== null && !/^\d{1,12}$/.test(seconds)) return null
  const decoded = macs.map(decode).filter((mac) => mac !== null)
  if (decoded.length === 0) return null
  return { prefix, macs: decoded, time: seconds === null ? null : Number(seconds) * 1000 }
}

function hexMac(text: string): Buffer | null {
  return /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : null
}

function base64Mac(text: string): Buffer | null {
  return /^[A-Za-z0-9+/]{43}=$/.test(text) ? Buffer.from(text, 'base64') : null
}

function listOf(header: string | readonly string[] | undefined, separator: string): readonly string[] {
  return typeof header === 'string' ? header.split(separator, MOST_MACS) : []
}
