import { execFile } from 'node:child_process'
import { cpSync, renameSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type SecureVersion } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { readSettings } from '../../host/config/settings.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { CERTIFICATE_PASS, type CertificateFolder, certificateFolder } from '../support/certificates.ts'
import { runCli, runCliProcess } from '../support/cli.ts'
import { openClient } from '../support/client-page.ts'
import { addClientSolution, label } from '../support/client-solution.ts'
import { hasCommand } from '../support/commands.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { type Answer, ask, createVisitor } from '../support/http.ts'
import { type AskTls, askByHttp1, askByHttp2 } from '../support/tls-clients.ts'
import { waitUntil } from '../support/wait-until.ts'

// Tests a host that serves TLS itself, with browsers, tools, attackers and certificate renewals.

const PAGE = '/solution/tenant-login/index.html'
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
const NAMED = { host: 'apps.example.test' }

let folder: CertificateFolder
let ca: Buffer
let host: TestHost
let by1: AskTls
let by2: ReturnType<typeof askByHttp2>
let bundle: Buffer

/**
 * Replaces the upload function of `startTestHost`. That function uses `fetch`, which doesn't trust the test's
 * certificate authority.
 */
function overTls(plain: TestHost): TestHost {
  const headers = { authorization: plain.admin, 'content-type': 'application/zip' }
  const upload = async (name: string, body: Uint8Array) => {
    const answer = await by1(`${plain.url}/admin/api/solutions/${name}`, { method: 'PUT', headers, body })
    return new Response(answer.text, { status: answer.status })
  }
  return { ...plain, upload }
}

const properties = (more: Record<string, string> = {}) => ({
  CERTIFICATE_FOLDER: folder.path,
  CERTIFICATE_NAME: 'site.p12',
  CERTIFICATE_PASS,
  ...more,
})

beforeAll(async () => {
  folder = await certificateFolder()
  await folder.issue('site')
  await folder.issue('next', { days: 20 })
  ca = folder.bytes('ca.pem')
  by1 = askByHttp1(ca)
  bundle = Buffer.from(await packFolder(exampleFolder('tenant-login')))
  host = overTls(
    await startTestHost(properties({ ALLOWED_HOSTS: 'apps.example.test', HTTP_REDIRECT_PORT: '0', FORM_BODY: '2k' })),
  )
  by2 = askByHttp2(host.url, ca)
  await host.upload('tenant-login', bundle)
  await addClientSolution(host, 'open', { elements: [label('text')], script: '' })
})
afterAll(async () => {
  by2.close()
  await host.stop()
  folder[Symbol.dispose]()
})

const codeOf = (answer: Answer) => [answer.status, (answer.json() as { code: string }).code]

describe('what the host serves', () => {
  test('the host prints its https URL, and the admin port on loopback stays without TLS', () => {
    expect([host.url, host.publicUrl, host.adminUrl].map((url) => new URL(url).protocol)).toEqual([
      'https:',
      'https:',
      'http:',
    ])
    expect(host.addressOf('open')).toBe(`${host.url}/solution/open/`)
  })

  test.each(['HTTP/1.1', 'HTTP/2'])(
    'a user signs in over %s: cookies are Secure, and the session exists',
    async (version) => {
      const visitor = createVisitor(host.url, {}, version === 'HTTP/2' ? by2.ask : by1)
      const page = await visitor.get(PAGE)
      expect([page.status, page.headers['set-cookie']?.[0]]).toEqual([
        200,
        expect.stringMatching(/^__Secure-login-tenant-login=[^;]+; .*; secure; httponly$/i),
      ])
      const answer = await visitor.post(PAGE, ANNA, { headers: { origin: host.url } })
      expect([answer.status, [...visitor.cookies.keys()].sort()]).toEqual([
        303,
        ['__Secure-known-tenant-login', '__Secure-login-tenant-login', '__Secure-session-tenant-login'],
      ])
      expect((await visitor.get('/solution/tenant-login/session')).json()).toMatchObject({ username: 'anna' })
      const foreign = await visitor.post(PAGE, ANNA, { headers: { origin: host.url.replace('https', 'http') } })
      expect(foreign.status).toBe(403)
    },
  )

  test.skipIf(!hasCommand('curl'))('curl gets the list of solutions over HTTP/2 and HTTP/1.1', async () => {
    const curl = async (version: string) => {
      const words = [
        '-sS',
        '--cacert',
        folder.authority,
        version,
        '-o',
        '/dev/null',
        '-w',
        '%{http_version} %{http_code}',
      ]
      return (await promisify(execFile)('curl', [...words, `${host.url}/`])).stdout
    }
    expect([await curl('--http2'), await curl('--http1.1')]).toEqual(['2 200', '1.1 200'])
  })

  test('a client opens its WebSocket over wss; WebSockets over HTTP/2 are not offered', async () => {
    const page = await openClient(host.url, 'open', { cookies: new Map() }, { ca })
    expect(page.words()).toBe('main0')
    page.close()
    expect(by2.session.remoteSettings.enableConnectProtocol).toBe(false)
    expect((await by2.ask(`${host.url}/solution/open/client`)).status).toBe(426)
  })

  test('a bundle is uploaded over HTTP/2, with and without a Content-Length', async () => {
    const headers = { authorization: host.admin, 'content-type': 'application/zip' }
    const url = `${host.url}/admin/api/solutions/tenant-login`
    const said = await by2.ask(url, {
      method: 'PUT',
      headers: { ...headers, 'content-length': String(bundle.length) },
      body: bundle,
    })
    const unsaid = await by2.ask(url, { method: 'PUT', headers, body: bundle })
    expect([said, unsaid].map(({ status, json }) => [status, (json() as { name: string }).name])).toEqual([
      [200, 'tenant-login'],
      [200, 'tenant-login'],
    ])
  })

  test('log events arrive over HTTP/2 immediately', async () => {
    const stream = by2.session.request({
      ':path': '/admin/api/solutions/open/log',
      accept: 'text/event-stream',
      authorization: host.admin,
    })
    const first = await new Promise((resolve) => stream.once('data', (chunk: Buffer) => resolve(String(chunk))))
    expect(first).toBe(': new log lines follow\n\n')
    stream.close(constants.NGHTTP2_CANCEL)
  })

  test('TLS 1.2 and 1.3 are supported, older versions are not', async () => {
    const spoken = (version: SecureVersion) =>
      new Promise((resolve) => {
        const { port, hostname } = new URL(host.url)
        const ciphers = 'DEFAULT:@SECLEVEL=0'
        const options = { port: Number(port), host: hostname, ca, minVersion: version, maxVersion: version, ciphers }
        const socket = connectTls(options, () => {
          resolve(socket.getProtocol())
          socket.destroy()
        })
        socket.on('error', () => resolve(null))
      })
    expect(await Promise.all((['TLSv1.3', 'TLSv1.2', 'TLSv1.1', 'TLSv1'] as const).map(spoken))).toEqual([
      'TLSv1.3',
      'TLSv1.2',
      null,
      null,
    ])
  })

  test('a connection without TLS gets no response, and the host keeps running', async () => {
    const socket = connectTcp(Number(new URL(host.url).port), '127.0.0.1')
    let got = ''
    socket.on('data', (chunk) => (got += String(chunk)))
    socket.end('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await new Promise((resolve) => socket.on('close', resolve).on('error', resolve))
    expect(got).not.toContain('HTTP/')
    expect((await by1(`${host.url}/health/live`)).status).toBe(200)
  })

  test('an admin port that is not on loopback also has TLS, and its pages set a Secure cookie', async () => {
    const beyond = await startTestHost(properties({ ADMIN_HOST: '0.0.0.0', PORT: '0' }))
    try {
      expect(beyond.adminUrl).toMatch(/^https:\/\/127\.0\.0\.1:/)
      expect((await by1(`${beyond.adminUrl}/admin/`, { headers: { accept: 'text/html' } })).status).toBeLessThan(400)
      const headers = { authorization: beyond.admin }
      const report = (await by1(`${beyond.adminUrl}/admin/api/health`, { headers })).json()
      expect(report).toMatchObject({ certificate: { problem: null, refused: null } })
    } finally {
      await beyond.stop()
    }
  })
})

describe('HSTS and the port without TLS', () => {
  const hsts = (answer: Answer) => answer.headers['strict-transport-security']

  test('responses for a public host name have HSTS, including errors; responses for a loopback name do not', async () => {
    const year = `max-age=${365 * 86_400}`
    expect(hsts(await by2.ask(`${host.url}/`, { headers: NAMED }))).toBe(year)
    expect(hsts(await by1(`${host.url}/nothing`, { headers: NAMED }))).toBe(year)
    expect(hsts(await by2.ask(`${host.url}/`))).toBe(undefined)
  })

  test('behind a TLS proxy, HSTS is sent if PUBLIC_URL is https and the browser used https', async () => {
    const proxied = await startTestHost({
      TRUSTED_PROXIES: '127.0.0.1',
      PUBLIC_URL: 'https://apps.example.test',
      HSTS_MAX_AGE: '0',
    })
    const forwarded = (proto: string) => ({ ...NAMED, 'x-forwarded-proto': proto })
    const answers = [
      await ask(`${proxied.url}/`, { headers: forwarded('https') }),
      await ask(`${proxied.url}/`, { headers: forwarded('http') }),
    ]
    expect(answers.map(hsts)).toEqual(['max-age=0', undefined])
    await proxied.stop()
  })

  const plain = (path: string, options: Parameters<typeof ask>[1] = {}) =>
    ask(`http://127.0.0.1:${host.redirectPort}/`, { ...options, path })

  test('GET and HEAD are redirected to the same URL over https', async () => {
    const port = new URL(host.url).port
    const answers = [
      await plain('/solution/open/index.html?a=b%20c'),
      await plain('/', { method: 'HEAD', headers: { host: 'apps.example.test:80' } }),
      await plain('//evil.example/%2e%2e'),
    ]
    expect(
      answers.map(({ status, headers }) => [status, headers.location, headers['strict-transport-security']]),
    ).toEqual([
      [308, `${host.url}/solution/open/index.html?a=b%20c`, undefined],
      [308, `https://apps.example.test:${port}/`, undefined],
      [308, `${host.url}//evil.example/%2e%2e`, undefined],
    ])
  })

  test('the port without TLS does not redirect to a foreign host, and does not accept forms or credentials', async () => {
    const foreign = [
      await plain('/', { headers: { host: 'evil.example' } }),
      await plain('/', { headers: { host: 'apps.example.test@evil.example' } }),
      await plain('/', { headers: { host: 'apps.example.test:80:80' } }),
    ]
    expect(foreign.map(codeOf)).toEqual(Array(3).fill([421, 'ERR_HOST_UNKNOWN']))
    const form = await plain(PAGE, { method: 'POST', body: 'username=anna' })
    const api = await plain('/admin/api/solutions', { headers: { authorization: host.admin } })
    expect([form, api].map(codeOf)).toEqual(Array(2).fill([403, 'ERR_NOT_ENCRYPTED']))
    expect((form.json() as { detail: string }).detail).toBe(
      `This port is not encrypted and only redirects browsers to ${host.url}. The request was not processed: send it to that URL.`,
    )
    expect((await plain('/health/live')).status).toBe(200)
  })

  test('with PUBLIC_URL and SOLUTION_ORIGIN, the port without TLS redirects to these URLs, whatever the internal ports are', async () => {
    const named = await startTestHost(
      properties({
        HTTP_REDIRECT_PORT: '0',
        PUBLIC_URL: 'https://apps.example.test',
        SOLUTION_ORIGIN: 'https://{name}.apps.example.test',
      }),
    )
    const to = async (name: string) =>
      (await ask(`http://127.0.0.1:${named.redirectPort}/x`, { headers: { host: name } })).headers.location
    expect([await to('apps.example.test'), await to('crm.apps.example.test'), await to('localhost')]).toEqual([
      'https://apps.example.test/x',
      'https://crm.apps.example.test/x',
      'https://apps.example.test/x',
    ])
    expect(named.publicUrl).toBe('https://apps.example.test')
    await named.stop()
  })
})

describe('HTTP/2', () => {
  /** Opens a separate connection. @returns its session, and a promise of the GOAWAY code */
  async function hostile(): Promise<{ session: ClientHttp2Session; ended: Promise<number | null> }> {
    const session = connectHttp2(host.url, { ca })
    let code: number | null = null
    session.on('error', () => undefined)
    session.on('goaway', (given) => (code = given))
    const ended = new Promise<number | null>((resolve) => session.on('close', () => resolve(code)))
    await new Promise((resolve) => session.once('remoteSettings', resolve))
    return { session, ended }
  }

  /** @returns the HTTP status, or the error's code */
  const tried = (session: ClientHttp2Session, headers: Record<string, string | string[] | undefined>) =>
    new Promise((resolve) => {
      const stream = session.request({ ':path': '/', ...headers } as Record<string, string>)
      stream.on('response', (answer) => resolve(answer[':status']))
      stream.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
      stream.resume()
    })

  test('a request with two hosts, an unknown host, a tunnel or overlong headers is rejected; many cookies are accepted', async () => {
    const { session } = await hostile()
    const authority = new URL(host.url).host
    expect(await tried(session, { ':authority': authority, host: 'evil.example' })).toBe(400)
    expect(await tried(session, { ':authority': 'evil.example' })).toBe(421)
    expect(await tried(session, { ':method': 'CONNECT', ':path': undefined, ':authority': 'evil.example:25' })).toBe(
      405,
    )
    // HTTP/2 doesn't require a path for other schemes. The host must not parse "?" as a URL.
    expect(await tried(session, { ':scheme': 'other', ':path': '?' })).toBe(400)
    expect(await tried(session, { expect: 'nonsense' })).toBe(417)
    expect(await tried(session, { cookie: Array.from({ length: 200 }, (_, index) => `c${index}=1`) })).toBe(200)
    session.destroy()
  })

  test('overlong or too many headers get 431, headers of twice the maximum size end the request, and the connection stays open', async () => {
    const long = await by2.ask(`${host.url}/`, { headers: { 'x-long': 'a'.repeat(40_000) } })
    expect([long.status, long.headers['content-type'], long.headers['x-content-type-options'], long.json()]).toEqual([
      431,
      'application/problem+json',
      'nosniff',
      {
        type: 'about:blank',
        title: 'Request Header Fields Too Large',
        status: 431,
        code: 'ERR_HEADERS_TOO_LARGE',
        detail:
          'The URL and headers of this request are larger than 32768 bytes, or there are more than 512 header fields. Shorten the URL, or send fewer or shorter headers. In a browser, delete this site’s cookies.',
      },
    ])
    const { session } = await hostile()
    expect(await tried(session, { cookie: Array.from({ length: 600 }, (_, index) => `c${index}=1`) })).toBe(431)
    expect(await tried(session, { ':method': 'POST', 'x-long': 'a'.repeat(40_000) })).toBe(431)
    expect(await tried(session, { 'x-long': 'a'.repeat(70_000) })).toBe('ERR_HTTP2_STREAM_ERROR')
    expect(await tried(session, {})).toBe(200)
    session.destroy()
  })

  test('a body that is too large gets 413, and the connection stays open', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: host.url }
    const visitor = createVisitor(host.url, headers, by2.ask)
    await visitor.get(PAGE)
    expect((await visitor.post(PAGE, { username: 'a'.repeat(300_000) })).status).toBe(413)
    expect((await by2.ask(`${host.url}/health/live`)).status).toBe(200)
  })

  test('an address with unfinished requests on all its allowed connections does not block other addresses', async () => {
    const own = await startTestHost(properties({ HTTP2_CONNECTIONS_ADDRESS: '4' }))
    const { port } = new URL(own.url)
    const to = { host: '127.0.0.1', servername: 'localhost', port: Number(port), ca, ALPNProtocols: ['h2'] }
    const from = (localAddress: string) => {
      const options = { ...to, localAddress }
      const session = connectHttp2(own.url, { createConnection: () => connectTls(options) })
      session.on('error', () => undefined)
      return session
    }
    const upload = { ':method': 'PUT', ':path': '/admin/api/solutions/x', 'content-type': 'application/zip' }
    const unfinished = { ...upload, authorization: own.admin, 'content-length': '100' }
    const held = Array.from({ length: 4 }, () => from('127.0.0.1'))
    for (const session of held) {
      session
        .request(unfinished)
        .on('error', () => undefined)
        .write('PK')
      await new Promise<void>((resolve) => session.ping(() => resolve()))
    }
    const further = from('127.0.0.1')
    const code = await new Promise((resolve) => further.on('goaway', resolve))
    expect(code).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    const neighbour = from('127.0.0.2')
    expect(await tried(neighbour, { ':path': '/health/live' })).toBe(200)
    for (const session of [...held, neighbour]) session.destroy()
    await own.stop()
  })

  test('thousands of cancelled requests close their own connection, but no others', async () => {
    const { session, ended } = await hostile()
    const cancel = () => {
      for (let count = 0; count < 50 && !session.closed && !session.destroyed; count++) {
        const stream = session.request({ ':path': '/' })
        stream.on('error', () => undefined)
        stream.close(constants.NGHTTP2_CANCEL)
      }
      if (!session.closed && !session.destroyed) setImmediate(cancel)
    }
    cancel()
    expect(await ended).toBe(constants.NGHTTP2_INTERNAL_ERROR)
    expect((await by2.ask(`${host.url}/health/live`)).status).toBe(200)
  })
})

describe('the certificate', () => {
  /** Replaces a file atomically. */
  function put(file: string, name: string): void {
    folder.write(`${file}.part`, folder.bytes(name))
    renameSync(join(folder.path, `${file}.part`), join(folder.path, file))
  }
  const subjectAt = (url: string) =>
    new Promise((resolve, reject) => {
      const { port, hostname } = new URL(url)
      const socket = connectTls({ port: Number(port), host: hostname, ca }, () => {
        resolve(socket.getPeerX509Certificate()?.subject)
        socket.destroy()
      })
      socket.on('error', reject)
    })

  test('the certificate is replaced without a restart: new connections use it, open ones are kept; an invalid file changes nothing', async () => {
    put('live.p12', 'site.p12')
    const own = await startTestHost(properties({ CERTIFICATE_NAME: 'live.p12' }))
    const before = askByHttp2(own.url, ca)
    expect((await before.ask(`${own.url}/`)).status).toBe(200)
    put('live.p12', 'site.pem')
    await waitUntil(() => expect(own.logged()).toContain('The new certificate was rejected'))
    expect(await subjectAt(own.url)).toBe('CN=site')
    put('live.p12', 'next.p12')
    await waitUntil(async () => expect(await subjectAt(own.url)).toBe('CN=next'))
    expect((await before.ask(`${own.url}/`)).status).toBe(200)
    before.close()
    expect(own.logged()).toMatch(/The host’s certificate expires at [^"]+, in (19|20) days/)
    const report = await by1(`${own.url}/admin/api/health`, { headers: { authorization: own.admin } })
    expect(report.json()).toMatchObject({ certificate: { problem: 'expires-soon', refused: null } })
    await own.stop()
  })

  test('startup with an invalid certificate file lists it with all other errors, and never shows the password', () => {
    const faultsOf = (more: Record<string, string>) => {
      try {
        readSettings(properties(more))
      } catch (error) {
        const { message } = error as Error
        expect(message).not.toContain(more.CERTIFICATE_PASS || CERTIFICATE_PASS)
        return message.split('\n').slice(1)
      }
      return []
    }
    const wrong = 'a wrong password'
    const http = { PUBLIC_URL: 'http://apps.example.test', SOLUTION_ORIGIN: 'http://{name}.localhost:8080' }
    expect(
      faultsOf({ ...http, PORT: 'x', CERTIFICATE_PASS: wrong, ADMIN_PORT: '80', HTTP_REDIRECT_PORT: '80' }),
    ).toEqual([
      '  PORT must be a port from 0 to 65535 (0 for any free port), but is "x"',
      '  PUBLIC_URL must begin with https:// if CERTIFICATE_NAME is set',
      '  SOLUTION_ORIGIN must begin with https:// if CERTIFICATE_NAME is set',
      '  HTTP_REDIRECT_PORT must differ from PORT and ADMIN_PORT, but is "80"',
      '  CERTIFICATE_NAME is set to "site.p12", which cannot be opened with CERTIFICATE_PASS: the password is wrong, or the file is damaged. ' +
        'Test the password: openssl pkcs12 -in site.p12 -noout -passin env:CERTIFICATE_PASS',
    ])
    expect(faultsOf({ CERTIFICATE_NAME: '../site.p12' })).toEqual([
      '  CERTIFICATE_NAME must be the name of a file in CERTIFICATE_FOLDER, without a path, but is "../site.p12"',
    ])
    expect(faultsOf({ CERTIFICATE_NAME: '', HTTP_REDIRECT_PORT: '80' })).toEqual([
      '  CERTIFICATE_PASS is set, but CERTIFICATE_NAME is not: set CERTIFICATE_NAME too, or unset CERTIFICATE_PASS',
      '  HTTP_REDIRECT_PORT requires CERTIFICATE_NAME: without a certificate, the host cannot redirect to https',
    ])
    expect(faultsOf({ CERTIFICATE_PASS: '', CERTIFICATE_PASS_FILE: join(folder.path, 'absent') })).toEqual([
      '  CERTIFICATE_PASS_FILE names a file that does not exist (ENOENT). In a container, mount the file.',
    ])
  })

  test('solhost doctor reports a certificate that expires soon, and host names that it does not cover', async () => {
    const env = properties({
      PORT: '0',
      ADMIN_PORT: '0',
      PLATFORM_HOME: join(folder.path, 'data'),
      CERTIFICATE_NAME: 'next.p12',
      PUBLIC_URL: 'https://crm.example.test',
    })
    const { out } = await runCli(['doctor', '--json'], { cwd: folder.path, env })
    const { findings } = JSON.parse(out) as { findings: { what: string }[] }
    expect(findings.find(({ what }) => what === 'certificate')).toEqual({
      ok: false,
      what: 'certificate',
      found: expect.stringMatching(
        /^The host’s certificate expires at .+, in (19|20) days\. .+ The certificate covers DNS:localhost, .+, but not crm\.example\.test\.$/,
      ),
      advice:
        'Renew the certificate. docs/tls.md describes how to replace the file automatically. ' +
        'Get a certificate that also covers these names. For SOLUTION_ORIGIN, it needs a wildcard name.',
    })
  })
})

test('the command line trusts the authority in NODE_EXTRA_CA_CERTS, and suggests it otherwise', async () => {
  const env = { SOLHOST_PASSWORD: ADMIN_PASSWORD }
  // A copy, because a deploy stores the version in the folder.
  const solution = join(folder.path, 'tenant-login')
  cpSync(exampleFolder('tenant-login'), solution, { recursive: true })
  const words = ['deploy', solution, host.url, '--user', 'admin']
  const without = await runCli(words, { cwd: folder.path, env })
  // Start a process, because Node.js reads the variable only at startup.
  const trusted = { ...env, NODE_EXTRA_CA_CERTS: folder.authority }
  const trusting = await runCliProcess(words, { cwd: folder.path, env: trusted })
  expect(without.err).toContain(
    'The host’s certificate is not trusted. If your own certificate authority issued it, set NODE_EXTRA_CA_CERTS to the authority’s certificate file.',
  )
  expect([trusting.code, trusting.err]).toEqual([0, ''])
})

test('the host stops even while connections have an endless HTTP/2 request or never start TLS', async () => {
  const own = await startTestHost(properties())
  const { session, ask: asks } = askByHttp2(own.url, ca)
  await asks(`${own.url}/`)
  // A request whose body is never sent completely.
  const stream = session.request({
    ':method': 'PUT',
    ':path': '/admin/api/solutions/x',
    authorization: own.admin,
    'content-type': 'application/zip',
    'content-length': '100',
  })
  stream.on('error', () => undefined)
  stream.write('PK')
  const idle = askByHttp2(own.url, ca)
  await idle.ask(`${own.url}/`)
  const { hostname, port } = new URL(own.url)
  const silent = connectTcp(Number(port), hostname)
  silent.on('error', () => undefined)
  await new Promise<void>((resolve) => silent.once('connect', () => resolve()))
  const gone = new Promise((resolve) => session.once('goaway', resolve))
  const closed = [session, idle.session, silent].map((one) => new Promise((resolve) => one.once('close', resolve)))
  // This timeout is longer than the grace period for stopping the host, and shorter than the handshake timeout.
  const ended = own.stop().then(() => true)
  const tooLong = new Promise((resolve) => setTimeout(resolve, 6000, false).unref())
  expect(await Promise.race([ended, tooLong])).toBe(true)
  expect(await gone).toBe(constants.NGHTTP2_NO_ERROR)
  await Promise.all(closed)
})
