import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The platform's source files: path and content. */
const sources = ['bin', 'runtime', 'plugins', 'base', 'host', 'cli'].flatMap((folder) =>
  (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
    .filter((name) => /\.[jt]s$/.test(name))
    .map((name) => [`${folder}/${name}`, readFileSync(join(ROOT, folder, name), 'utf8')] as const),
)

test('only outbound modules, database drivers and telemetry open connections; everything else only listens', () => {
  const modules = /^import (?!type )([^'"]*?) from 'node:(net|tls|http|https|http2|dgram|dns)(?:\/\w+)?'/gm
  const imported = sources.flatMap(([file, text]) =>
    [...text.matchAll(modules)].map(([, names, module]) => `${file}: ${names} of ${module}`),
  )
  // Why these imports are allowed. outbound.ts checks each address before it connects. Connections to directories use
  // the URLs that the operator sets. Servers only listen. Embedded-database processes use an inherited file descriptor
  // as a Socket. The command line runs in a separate process and connects to the host that its user
  // chooses; a running host never loads it (test/cli/apart.test.ts). All other imports are functions that only process
  // strings.
  expect(imported.sort()).toEqual([
    'base/accounts/passkey-places.ts: { isIP } of net',
    'base/config/properties.ts: { isIP } of net',
    'base/http/answer-errors.ts: { STATUS_CODES } of http',
    'base/http/early-answer.ts: { STATUS_CODES } of http',
    'base/http/upgrades.ts: { ServerResponse } of http',
    'base/http/upgrades.ts: { Socket } of net',
    'base/outbound/checked-addresses.ts: { isIP, type LookupFunction } of net',
    'base/outbound/checked-addresses.ts: { lookup as lookUpName } of dns',
    'base/outbound/public-address.ts: { isIP } of net',
    'base/tls/certificate.ts: { createSecureContext, TLSSocket } of tls',
    'base/tls/expiry.ts: { isIP } of net',
    'base/tls/http2-sessions.ts: { constants, type ServerHttp2Session, type ServerHttp2Stream } of http2',
    'base/tls/http2.ts: { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } of http2',
    'base/tls/secure-server.ts: { Server, type ServerOptions } of https',
    'base/tls/server.ts: { createServer, maxHeaderSize, type Server, STATUS_CODES } of http',
    'cli/host-api.ts: { request as httpRequest, type IncomingMessage } of http',
    'cli/host-api.ts: { request as httpsRequest, type RequestOptions as SecureRequestOptions } of https',
    'cli/listen-once.ts: { createServer } of net',
    'host/directories/connection.ts: { connect as connectPlain, isIP, type Socket } of net',
    'host/directories/connection.ts: { connect as connectSecure, type TLSSocket } of tls',
    'host/metrics-route.ts: { createServer, type Server } of http',
    'host/metrics-route.ts: { isIP } of net',
    'host/outbound/check-request.ts: { isIP } of net',
    'host/outbound/check-request.ts: { validateHeaderName, validateHeaderValue } of http',
    'host/outbound/outbound.ts: { isIP } of net',
    'host/outbound/outbound.ts: { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } of http',
    'host/outbound/outbound.ts: { request as httpsRequest, type RequestOptions } of https',
    'host/solution-databases/embedded-process.ts: { Socket } of net',
    'runtime/bundle/manifest-schema.ts: { isIPv6 } of net',
  ])
  // openid-client is configured to use the property `fetch` of `ProviderRequests`, which calls `Outbound`.
  const calls =
    /(?<!requests\.|async )\b(?:fetch|connect|WebSocket|EventSource|XMLHttpRequest)\(|\b(?:require|getBuiltinModule)\(/
  // Three of these may open connections. Database drivers connect to the servers in the operator's settings and grants.
  // Telemetry connects to the collector in the settings. Requests to the control center connect to CLOUD_URL. The
  // others only match the pattern: sandbox processes, which use an inherited file descriptor as a Socket, code that makes
  // importing node:http faster, the binding that lets scripts send requests through the host, advice texts, and code
  // that runs in browsers. In browsers, the page's policy allows connections only to its own origin.
  const known =
    /^(?:base\/(?:database|web\/scripts)\/|host\/(?:solution-databases|web\/(?:client|admin|workbench))\/|base\/(?:outbound\/post|program\/lean-http)\.ts$|runtime\/sandbox\/(?:channel|replaced-names)\.ts$|host\/cloud\/(?:login\/login-requests|managed\/cloud-requests)\.ts$|plugins\/http\/(?:guest|api\.d)\.ts$)/
  const callers = sources.filter(([file, text]) => calls.test(text) && !known.test(file)).map(([file]) => file)
  expect(callers).toEqual([])
  const inChannel = sources.filter(([file]) => file === 'runtime/sandbox/channel.ts').map(([, text]) => text)
  expect(inChannel.join('').match(/\w+\('node:\w+'\)|new Socket\(.*|connect\(/g)).toEqual([
    "getBuiltinModule('node:net')",
    "getBuiltinModule('node:net')",
    'new Socket({ fd: descriptor, readable: true, writable: true })',
  ])
})
