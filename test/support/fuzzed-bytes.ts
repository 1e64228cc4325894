import type { Random } from './random.ts'
import { maskedFrame } from './raw-frames.ts'

// Generates bytes that no correct client sends. The random numbers have a seed, so failures can be reproduced.

const CRLF = '\r\n'

const METHODS = [
  ...[
    'GET',
    'GET',
    'GET',
    'GET',
    'POST',
    'POST',
    'PUT',
    'HEAD',
    'OPTIONS',
    'DELETE',
    'PATCH',
    'CONNECT',
    'TRACE',
    'PRI',
  ],
  ...['M-SEARCH', 'get', '', 'G\0T', 'A'.repeat(300), 'QUERY', 'PROPFIND'],
]

const TARGETS = [
  ...[
    '/',
    '/health/live',
    '/solution/open/',
    '/solution/open/index.html',
    '/solution/open/client',
    '/solution/none/client',
  ],
  ...[
    '/solution/open/media/x.png',
    '/solution/open/session',
    '/admin/',
    '/admin/sign-in',
    '/admin/api/solutions',
    '/metrics',
  ],
  ...[
    '/admin/api/solutions/open/log?follow=true',
    '/sign-in',
    '/organisations',
    '/api/organisations',
    '/v1/logs',
    '/v1/traces',
  ],
  ...[
    '/v1/metrics',
    '/satellite/desired',
    '/json/list',
    '*',
    '',
    '//',
    '/%',
    '/%ff%00',
    '/..%2f..%2f',
    'http://[x/',
    'http://x/',
  ],
  ...['localhost:1', '/\x80\xff', '/?'.padEnd(3000, 'a=b&'), `/${'x'.repeat(20_000)}`, '/\t', '/#x', '/;x=1'],
]

const VERSIONS = [
  ...Array<string>(12).fill('HTTP/1.1'),
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'HTTP/1.2',
  'HTTP/',
  'X/1.1',
  '',
]

const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
const HANDSHAKE = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', KEY]

/** Groups of header lines to choose from. An empty group adds no header. */
const HEADERS: readonly (readonly string[])[] = [
  HANDSHAKE,
  HANDSHAKE,
  HANDSHAKE,
  ['Connection: Upgrade', 'Upgrade: websocket'],
  ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'],
  ['Connection: keep-alive, Upgrade', 'Upgrade: nonsense/1.0, websocket'],
  ['Upgrade: websocket'],
  ['Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99'],
  ['Sec-WebSocket-Protocol: a, a, ,'],
  ['Connection: close'],
  ['Connection: keep-alive'],
  ['Connection: Host'],
  ['Content-Length: 0'],
  ['Content-Length: 1'],
  ['Content-Length: 1'],
  ['Content-Length: 5'],
  ['Content-Length: 5', 'Content-Length: 6'],
  ['Content-Length: -1'],
  ['Content-Length: 99999999999999999999'],
  ['Content-Length: 1e3'],
  ['Content-Length: 1073741824'],
  ['Transfer-Encoding: chunked'],
  ['Transfer-Encoding: chunked'],
  ['Transfer-Encoding: gzip, chunked'],
  ['Transfer-Encoding: chunked', 'Content-Length: 5'],
  ['Transfer-Encoding: xchunked'],
  ['Transfer-Encoding : chunked'],
  ['Expect: 100-continue', 'Content-Length: 5'],
  ['Expect: something-else'],
  ['Host: evil.example'],
  ['Host: localhost', 'Host: localhost'],
  ['Host: [::1'],
  ['Host: '],
  ['Origin: http://evil.example'],
  ['Origin: null', 'Sec-Fetch-Site: cross-site'],
  ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Dest: empty', 'Sec-Fetch-Mode: cors'],
  ['Sec-Fetch-Site: none', 'Sec-Fetch-Dest: document', 'Sec-Fetch-Mode: navigate', 'Accept: text/html'],
  ['Authorization: Basic YWRtaW46d3Jvbmc='],
  ['Authorization: Basic ====', 'Accept: text/html'],
  [`Authorization: Bearer ${'x'.repeat(500)}`],
  ['Cookie: a=b; =; ;; session-open=x; __Secure-session-open=%ff'],
  [`Cookie: ${'a=b; '.repeat(1000)}`],
  ['Content-Type: application/json', 'Content-Length: 5'],
  ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 5'],
  ['Content-Type: application/x-protobuf', 'Content-Encoding: gzip', 'Content-Length: 5'],
  ['Content-Type: application/zip', 'Content-Length: 5'],
  ['Content-Type: \xff; charset=\x00'],
  ['Accept-Encoding: gzip;q=2, *;q=-1'],
  ['Accept-Language: xx-\xff, *;q=9, de;q=0.0.0'],
  ['Range: bytes=0-0,-1,5-2'],
  ['If-None-Match: *', 'If-Modified-Since: never'],
  ['X-Forwarded-For: 1.2.3.4:5, [::1', 'X-Forwarded-Proto: \xff', 'X-Forwarded-Host: [', 'Forwarded: ;=;'],
  ['traceparent: 00-ffffffffffffffffffffffffffffffff-0000000000000000-zz'],
  ['Last-Event-ID: -1'],
  [`X-Long: ${'x'.repeat(20_000)}`],
  Array.from({ length: 2500 }, (_, index) => `X-${index}: y`),
  [' folded: line'],
  ['No-Colon'],
  ['Nul: \0'],
  ['__proto__: x', 'constructor: y'],
  [': no name'],
]

const BODIES = [
  ...[
    '',
    '',
    '',
    'x',
    'abc',
    'abcde',
    'abcdefghij',
    '{"a":',
    '[[[[[',
    'a=b&a=b&%ff=%',
    'PK\x03\x04\0\0',
    '5\r\nabcde\r\n',
  ],
  ...[
    '5\r\nabc',
    '5;ext=1\r\nabcde\r\n0\r\n\r\n',
    '5\r\nabcde\r\n0\r\nX: y\r\n\r\n',
    'ffffffffffffffffff\r\n',
    '-1\r\n',
    'zz\r\n',
  ],
  ...['0\r\n\r\n', '0\r\n', '\0'.repeat(50), '\x1f\x8b\x08'],
]

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random.below(from.length)] as T
}

/** Generates one to three requests on one connection, some of them with changed bytes. */
export function fuzzedRequests(random: Random): Buffer {
  const requests = Array.from({ length: random.below(4) === 0 ? 1 + random.below(3) : 1 }, () => fuzzedRequest(random))
  const bytes = Buffer.from(requests.join(''), 'latin1')
  return random.below(4) === 0 ? changed(random, bytes) : bytes
}

function fuzzedRequest(random: Random): string {
  const host = random.below(10) === 0 ? [] : ['Host: localhost']
  const headers = Array.from({ length: random.below(4) }, () => pick(random, HEADERS)).flat()
  const end = random.below(20) === 0 ? '' : CRLF
  const first = `${pick(random, METHODS)} ${pick(random, TARGETS)} ${pick(random, VERSIONS)}`
  return [first, ...host, ...headers, end].join(CRLF) + pick(random, BODIES)
}

/** Makes one to four random changes: flips, removes, duplicates or inserts bytes. */
export function changed(random: Random, bytes: Buffer): Buffer {
  let made = bytes
  for (let times = 1 + random.below(4); times > 0; times--) {
    const at = random.below(made.length + 1)
    const length = 1 + random.below(20)
    const before = made.subarray(0, at)
    const part = made.subarray(at, at + length)
    const after = made.subarray(at + length)
    const noise = Buffer.from(Array.from({ length }, () => random.below(256)))
    made = Buffer.concat(pick(random, [[before, after], [before, noise, after], [before, part, part, after], [before]]))
  }
  return made
}

/**
 * Returns a valid WebSocket handshake.
 * @param origin the origin of the server's pages
 */
export function handshake(path: string, origin: string): string {
  return [
    'GET ',
    path,
    ' HTTP/1.1',
    CRLF,
    [`Host: ${new URL(origin).host}`, `Origin: ${origin}`, ...HANDSHAKE, '', ''].join(CRLF),
  ].join('')
}

const PAYLOADS = [
  ...['', '{}', 'null', '[]', '{"kind":"hello"}', '{"kind":"event","seq":-1}', '['.repeat(5000), '\0', '\ud800'],
  '{"kind":"hello","client":null,"page":"5f0f7f5e-8f0d-4c1e-9a3e-0c9c2b8f6f11","width":800,"height":600}',
  '{"kind":"event","seq":1,"form":"main","element":"text","type":"onAction","value":{"__proto__":1}}',
  'x'.repeat(70_000),
]

/** Generates the data after a WebSocket handshake: valid and malformed frames (RFC 6455, section 5). */
export function fuzzedFrames(random: Random): Buffer {
  const frames = Array.from({ length: 1 + random.below(6) }, () => fuzzedFrame(random))
  const bytes = Buffer.concat(frames)
  return random.below(3) === 0 ? changed(random, bytes) : bytes
}

function fuzzedFrame(random: Random): Buffer {
  const payload = pick(random, PAYLOADS)
  switch (random.below(8)) {
    // A frame with a random first byte: it may have reserved bits or an unknown opcode, or continue a message that
    // never began.
    case 0:
      return Buffer.concat([Buffer.of(random.below(256)), maskedFrame(payload).subarray(1)])
    case 1: // An unmasked frame.
      return Buffer.concat([Buffer.of(0x81, 5), Buffer.from('hello')])
    case 2: // A length that exceeds the maximum frame size.
      return Buffer.from([0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])
    case 3: // A close frame with a random close code, or only part of one.
      return maskedFrame(String.fromCharCode(random.below(128), random.below(128)).slice(random.below(3)), {
        opcode: 8,
      })
    case 4: // A ping or pong frame that is too long or incomplete.
      return maskedFrame('p'.repeat(random.below(200)), { opcode: 9 + random.below(2), isLast: random.below(4) > 0 })
    case 5:
      return maskedFrame(payload, { isLast: false })
    default:
      return maskedFrame(payload)
  }
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
/** A SETTINGS frame that contains no settings. */
const SETTINGS = frame(4, 0, 0, Buffer.alloc(0))

/**
 * Generates what a malicious HTTP/2 client sends: the preface, then frames with random types and flags (RFC 9113,
 * section 6).
 */
export function fuzzedHttp2(random: Random): Buffer {
  const frames = Array.from({ length: 1 + random.below(8) }, () => {
    const payload = Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)))
    // HPACK-encoded headers: GET, / and https from the static table (RFC 7541, appendix A), and an authority.
    const headers = Buffer.concat([Buffer.from([0x82, 0x84, 0x87, 0x41, 9]), Buffer.from('localhost')])
    const isRequest = random.below(2) === 0
    if (isRequest)
      return frame(
        1,
        random.below(8) === 0 ? random.below(256) : 5 - (random.below(2) && 1),
        2 * random.below(4) + 1,
        headers,
      )
    return frame(random.below(11), random.below(256), random.below(5), payload)
  })
  const bytes = Buffer.concat([PREFACE, SETTINGS, ...frames])
  return random.below(3) === 0 ? changed(random, bytes) : bytes
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}
