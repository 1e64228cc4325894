import { beforeAll, expect, test } from 'vitest'
import { NAVIGATION, signInToAdmin } from '../support/admin.ts'
import { type Answer, ask } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { bundleOf, type Files, moduleFile } from '../support/zip.ts'

const TITLE = '<script>alert(1)</script>'
const FORM = `<form method="post" accept-charset="UTF-8" name="login_form" role="form"><input type="text" name="username">
<input type="password" name="password"><input type="checkbox" name="remember"><input type="hidden" name="id_token"></form>
<p id="errorlabel" class="errorlabel">wrong</p>`
const HOSTILE_LINE = '<p style="}</code></pre><script>alert(2)</script>">x</p>'
const AUTH = {
  ...moduleFile('auth', { type: 'authenticator' }),
  'modules/auth/globals.js': 'function onSolutionOpen() {}',
}

let host: Awaited<ReturnType<typeof sharedHost>>
let admin: Awaited<ReturnType<typeof signInToAdmin>>

beforeAll(async () => {
  host = await sharedHost()
  admin = await signInToAdmin(host)
  await upload(
    { name: 'preview-own', title: TITLE },
    { 'media/login.html': `${FORM}\n${HOSTILE_LINE}`, 'media/a.svg': '<svg/>' },
  )
  await upload({ name: 'preview-other' }, { 'media/b.css': 'p { color: red }' })
  const oauth = { api: 'Google', clientId: '"><script>alert(3)</script>', apiSecret: '%%IDP%%' }
  await upload({ name: 'preview-crm', title: TITLE, authenticator: 'OAUTH', modules: ['auth'], oauth }, AUTH)
})

async function upload(manifest: { readonly name: string; readonly [more: string]: unknown }, files: Files) {
  const answer = await host.upload(manifest.name, await bundleOf(manifest, files))
  expect(answer.status).toBe(201)
}

const FRAME = { ...NAVIGATION, 'sec-fetch-dest': 'iframe' }

/** The URL of the page's preview frame, up to and including the ticket. */
async function previewOf(name: string): Promise<string> {
  const { text } = await admin.get(`/admin/solutions/${name}/login-page`)
  return /src="(\/admin\/[^"]+\/)index\.html/.exec(text)?.[1] ?? ''
}

const frame = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  ask(`${host.adminUrl}${path}`, { headers: { ...FRAME, cookie: admin.cookie, ...headers } })

test.each(['login-page', 'oauth'])(
  '%s: a visitor without a session is redirected to the sign-in page, and back afterwards',
  async (page) => {
    const path = `/admin/solutions/preview-own/${page}`
    const answer = await ask(`${host.adminUrl}${path}`, { headers: NAVIGATION })
    expect([answer.status, answer.headers.location]).toEqual([302, `/admin/sign-in?to=${encodeURIComponent(path)}`])
  },
)

test.each(['login-page', 'oauth'])('%s: an unknown solution returns 404', async (page) => {
  expect((await admin.get(`/admin/solutions/nobody/${page}`)).status).toBe(404)
})

test('login page: titles, template lines and URL parameters are escaped', async () => {
  const page = await admin.get(
    '/admin/solutions/preview-own/login-page?locale=%22%3E%3Cscript%3E&state=%3Cscript%3E&width=x',
  )
  expect(page.status).toBe(200)
  expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect(page.text).toContain('&lt;script&gt;alert(2)&lt;/script&gt;')
  expect(page.text).not.toMatch(/<script>/)
  expect(page.headers['content-security-policy']).toContain("; frame-src 'self'")
})

test('login page: if a PLATFORM_CLOUD solution has no control center, the page names the missing setting', async () => {
  await upload({ name: 'harbour', authenticator: 'PLATFORM_CLOUD' }, {})
  const { text } = await admin.get('/admin/solutions/harbour/login-page')
  expect(text).toContain('Set ENVIRONMENT=onprem, CLOUD_URL and REMOTE_ENVIRONMENT_TOKEN')
  expect(text).not.toContain('<iframe')
})

test('oauth: settings from a manifest are escaped', async () => {
  const page = await admin.get('/admin/solutions/preview-crm/oauth')
  expect(page.status).toBe(200)
  expect(page.text).toContain('&lt;script&gt;alert(3)&lt;/script&gt;')
  expect(page.text).not.toMatch(/<script>/)
})

test('preview: it shows every language and state, with an empty token and no cookie', async () => {
  const path = await previewOf('preview-own')
  const states = ['first', 'passwordChanged', 'refused', 'outcome', 'throttled', 'busy', 'unavailable', 'expired']
  for (const locale of ['en', 'nl', 'de', 'fr', 'es']) {
    for (const state of states) {
      const answer = await frame(`${path}index.html?locale=${locale}&state=${state}`)
      expect([locale, state, answer.status, answer.headers['set-cookie']]).toEqual([locale, state, 200, undefined])
      expect(answer.text).toContain('name="csrf_token" value=""')
    }
  }
})

test('preview: it is sandboxed, and loads only its solution’s media', async () => {
  const path = await previewOf('preview-own')
  const { headers, text } = await frame(`${path}index.html`)
  const nonce = /nonce="([^"]+)"/.exec((await frame(`${path}index.html?state=refused`)).text)?.[1]
  expect(nonce).toMatch(/^[\w-]{24}$/)
  const media = `${host.adminUrl}${path}media/`
  const policy = String(headers['content-security-policy'])
  expect(policy.replace(/'nonce-[\w-]+'/g, "'nonce'").split('; ')).toEqual([
    'sandbox allow-scripts',
    "default-src 'none'",
    "script-src 'nonce' 'strict-dynamic'",
    `style-src 'nonce' ${media}`,
    `img-src ${media} data:`,
    `font-src ${media}`,
    "connect-src 'none'",
    "worker-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ])
  expect(headers['cache-control']).toBe('no-store')
  expect(text).toContain('login_form')
})

test('preview: all media of the origin are allowed at an IPv6 address, because a Content-Security-Policy cannot express one', async () => {
  const { port } = new URL(host.adminUrl)
  const { headers } = await frame(`${await previewOf('preview-own')}index.html`, { host: `[::1]:${port}` })
  expect(headers['content-security-policy']).toContain("img-src 'self' data:;")
})

test.each([
  ['opened outside the frame', { 'sec-fetch-dest': 'document' }],
  ['fetched', { 'sec-fetch-dest': 'empty' }],
  ['framed by another site', { 'sec-fetch-site': 'cross-site' }],
  ['requested without a session', { cookie: '' }],
])('preview: it is rejected when %s', async (_what, headers) => {
  const answer = await frame(`${await previewOf('preview-own')}index.html`, { accept: 'application/json', ...headers })
  expect([answer.status, (answer.json() as { code: string }).code]).toEqual([403, 'ERR_NOT_A_NAVIGATION'])
})

test('preview: an invalid ticket is rejected and does not appear in the Content-Security-Policy', async () => {
  const [path, other] = [await previewOf('preview-own'), await previewOf('preview-other')]
  const ticket = path.split('/').at(-2) ?? ''
  for (const wrong of ['x.y', 'x; connect-src *;', other.split('/').at(-2) ?? '']) {
    const asked = `${path.replace(ticket, encodeURIComponent(wrong))}index.html`
    const answer = await frame(asked, { accept: 'application/json' })
    expect([answer.status, answer.headers['content-security-policy']]).toEqual([
      404,
      "default-src 'none'; frame-ancestors 'none'",
    ])
  }
})

test('preview: media require a ticket, which is not valid for other solutions’ media', async () => {
  const [path, other] = [await previewOf('preview-own'), await previewOf('preview-other')]
  const media = (from: string) => ask(`${host.adminUrl}${from}`, { headers: { 'sec-fetch-site': 'cross-site' } })
  const found = await media(`${path}media/a.svg`)
  expect([found.status, found.text]).toEqual([200, '<svg/>'])
  expect(found.headers).toMatchObject({
    'cross-origin-resource-policy': 'cross-origin',
    'access-control-allow-origin': 'null',
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
  })
  expect((await media(`${path}media/b.css`)).status).toBe(404)
  const ticket = path.split('/').at(-2) ?? ''
  expect((await media(`${other.replace(/[^/]+\/$/, `${ticket}/`)}media/b.css`)).status).toBe(404)
  expect((await media(`${path.replace(ticket, 'x.y')}media/a.svg`)).status).toBe(404)
  const posted = await ask(`${host.adminUrl}${path}media/a.svg`, { method: 'POST' })
  expect(posted.status).toBe(405)
})
