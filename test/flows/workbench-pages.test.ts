import { afterAll, beforeAll, expect, test } from 'vitest'
import { signInToAdmin } from '../support/admin.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { bundleOf } from '../support/zip.ts'

const FORM = `<form method="post" accept-charset="UTF-8" name="login_form"><input name="username"><input type="password" name="password">
<input type="checkbox" name="remember"><input type="hidden" name="id_token"><button>go</button></form><p id="errorlabel"></p>`
const LOGIN = `<!DOCTYPE html><html lang="en"><head><title>own</title></head><body><img src="media/a.svg" alt="">${FORM}</body></html>`
const FILES = {
  'media/login.html': LOGIN,
  'media/a.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'globals.js': 'var a = 1\n',
}

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
  await host.upload('shop', await bundleOf({ name: 'shop', authenticator: 'DEFAULT' }, FILES))
})
afterAll(() => host.stop())

type Admin = Awaited<ReturnType<typeof signInToAdmin>>
type Draft = { readonly id: string; readonly files: readonly { readonly path: string; readonly etag: string }[] }

async function createDraft(admin: Admin): Promise<Draft> {
  const { active } = (await admin.api('GET', 'solutions/shop')).json() as { active: string }
  return (await admin.api('POST', 'solutions/shop/drafts', { base: active })).json() as Draft
}

const data = (cookie: string) => ({ cookie, 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' })
const framed = (cookie: string) => ({
  cookie,
  accept: 'text/html',
  'sec-fetch-site': 'same-origin',
  'sec-fetch-dest': 'iframe',
  'sec-fetch-mode': 'navigate',
})

async function previewOf({ cookie }: Admin, { id }: Draft): Promise<{ address: string; revision: number }> {
  const answer = await ask(`${host.adminUrl}/admin/solutions/shop/workbench/${id}/preview.json`, {
    headers: data(cookie),
  })
  expect(answer.status).toBe(200)
  return answer.json() as { address: string; revision: number }
}

test('workbench: the page allows scripts by its nonce only, and its import map names files that exist', async () => {
  const admin = await signInToAdmin(host)
  const { id } = await createDraft(admin)
  const page = await admin.get(`/admin/solutions/shop/workbench?draft=${id}&file=globals.js`)
  const nonce = /script-src 'nonce-([^']+)' 'strict-dynamic'/.exec(String(page.headers['content-security-policy']))?.[1]
  expect(page.headers['content-security-policy']).toBe(
    `default-src 'none'; script-src 'nonce-${nonce}' 'strict-dynamic'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; ` +
      "font-src 'self'; connect-src 'self'; worker-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; frame-src 'self'",
  )
  const [, map = '{}'] = /<script type="importmap" nonce="[^"]+">([^<]+)</.exec(page.text) ?? []
  const { imports } = JSON.parse(map) as { imports: Record<string, string> }
  expect(Object.keys(imports)).toContain('@codemirror/view')
  for (const path of [...Object.values(imports), '/admin/workbench.js', '/admin/workbench/completions.json']) {
    expect([path, (await ask(`${host.adminUrl}${path}`)).status]).toEqual([path, 200])
  }
  for (const path of ['package.json', '..%2f..%2fpackage.json', 'koa.js']) {
    expect([path, (await ask(`${host.adminUrl}/admin/modules/${path}`)).status]).toEqual([path, 404])
  }
})

test('workbench: contents of files are never markup, on the page and in its data', async () => {
  const admin = await signInToAdmin(host)
  const draft = await createDraft(admin)
  const text = '</script><script>alert(1)</script><!--'
  const path = `solutions/shop/drafts/${draft.id}/files/scopes/x.js`
  expect((await admin.api('PUT', path, { text }, { 'if-none-match': '*' })).status).toBe(201)
  const page = await admin.get(`/admin/solutions/shop/workbench?draft=${draft.id}&file=scopes/x.js`)
  expect(page.text).toContain('&lt;/script&gt;&lt;script&gt;alert(1)')
  expect(page.text).not.toContain('<script>alert')
})

test('workbench: the page and its script open the same file first: the one in the URL, otherwise a changed login page, otherwise globals.js', async () => {
  const admin = await signInToAdmin(host)
  const draft = await createDraft(admin)
  const page = `/admin/solutions/shop/workbench?draft=${draft.id}`
  async function opened(path: string): Promise<object> {
    const { text } = await admin.get(path)
    const [, json = '{}'] = /<script type="application\/json" id="workbench-data">([^<]+)</.exec(text) ?? []
    const { file, line } = JSON.parse(json) as { file: string; line: number | null }
    expect(/<bdi id="workbench-path">([^<]*)</.exec(text)?.[1]).toBe(file)
    return { file, line }
  }
  expect(await opened(page)).toEqual({ file: 'globals.js', line: null })
  expect(await opened(`${page}&file=solution.json&line=2`)).toEqual({ file: 'solution.json', line: 2 })
  expect(await opened(`${page}&file=deleted.js&line=2`)).toEqual({ file: 'globals.js', line: null })
  const etag = draft.files.find(({ path }) => path === 'media/login.html')?.etag
  const login = `solutions/shop/drafts/${draft.id}/files/media/login.html`
  const text = LOGIN.replace('own', 'changed')
  expect((await admin.api('PUT', login, { text }, { 'if-match': `"${etag}"` })).status).toBe(200)
  expect(await opened(page)).toEqual({ file: 'media/login.html', line: null })
})

test('preview of a draft: it is shown only in its frame, and only to a user who may change the solution', async () => {
  const admin = await signInToAdmin(host)
  const draft = await createDraft(admin)
  const { address } = await previewOf(admin, draft)
  const shown = await ask(`${host.adminUrl}${address}?state=first`, { headers: framed(admin.cookie) })
  expect([shown.status, shown.text]).toEqual([200, expect.stringContaining('<title>own</title>')])
  expect(shown.headers['content-security-policy']).toMatch(/^sandbox allow-scripts; /)
  const media = await ask(`${host.adminUrl}${address.replace('index.html', 'media/a.svg')}`)
  expect([media.status, media.headers['content-type']]).toEqual([200, 'image/svg+xml'])
  const direct = await admin.get(address)
  expect(direct.status).toBe(403)
  expect((await ask(`${host.adminUrl}${address}`, { headers: framed('') })).status).toBe(403)
  expect(
    (await ask(`${host.adminUrl}${address.replace('/preview/', '/preview/9')}`, { headers: framed(admin.cookie) }))
      .status,
  ).toBe(404)
})

test('preview of a draft: its URL no longer works once the draft has changed', async () => {
  const admin = await signInToAdmin(host)
  const draft = await createDraft(admin)
  const before = await previewOf(admin, draft)
  const etag = draft.files.find(({ path }) => path === 'media/login.html')?.etag
  const path = `solutions/shop/drafts/${draft.id}/files/media/login.html`
  const text = LOGIN.replace('own', 'changed')
  expect((await admin.api('PUT', path, { text }, { 'if-match': `"${etag}"` })).status).toBe(200)
  expect((await ask(`${host.adminUrl}${before.address}`, { headers: framed(admin.cookie) })).status).toBe(404)
  const after = await previewOf(admin, draft)
  expect(after.revision).toBeGreaterThan(before.revision)
  const shown = await ask(`${host.adminUrl}${after.address}`, { headers: framed(admin.cookie) })
  expect(shown.text).toContain('<title>changed</title>')
})

test('the page’s token is renewed only for users who are signed in', async () => {
  const admin = await signInToAdmin(host)
  const url = `${host.adminUrl}/admin/workbench/session.json`
  expect((await ask(url, { headers: data('') })).status).toBe(401)
  expect((await ask(url, { headers: { ...data(admin.cookie), 'sec-fetch-dest': 'script' } })).status).toBe(403)
  expect((await ask(url, { headers: data(admin.cookie) })).json()).toEqual({ csrfToken: admin.csrfToken })
})

test('the head of a draft’s page is sent only to users who are signed in, and not to frames', async () => {
  const admin = await signInToAdmin(host)
  const { id } = await createDraft(admin)
  const url = `${host.adminUrl}/admin/solutions/shop/workbench/${id}/head.json`
  expect((await ask(url, { headers: data('') })).status).toBe(401)
  expect((await ask(url, { headers: { ...data(admin.cookie), 'sec-fetch-dest': 'iframe' } })).status).toBe(403)
  const { html } = (await ask(url, { headers: data(admin.cookie) })).json() as { html: string }
  expect(html).toContain('<a href="/admin/solutions/shop/workbench" aria-current="page">')
  expect(html).not.toContain('<html')
})

test('a token that may only read gives access to the files of the active version, but to no drafts', async () => {
  const admin = await signInToAdmin(host)
  const { id } = await createDraft(admin)
  const made = await admin.api('POST', 'tokens', { name: 'reader', scopes: ['solutions:shop:read'] })
  const signedIn = await ask(`${host.adminUrl}/admin/sign-in/token`, {
    method: 'POST',
    headers: { ...framed(''), 'sec-fetch-dest': 'document', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: (made.json() as { token: string }).token }).toString(),
  })
  const cookie = (signedIn.headers['set-cookie'] ?? [])[0]?.split(';', 1)[0] ?? ''
  const headers = { ...framed(cookie), 'sec-fetch-dest': 'document' }
  const page = await ask(`${host.adminUrl}/admin/solutions/shop/workbench?draft=${id}&file=globals.js`, { headers })
  expect(page.text).toContain('var a = 1')
  expect(page.text).not.toContain(id)
  expect(page.text).not.toContain('type="importmap"')
  for (const part of ['preview.json', 'head.json']) {
    const url = `${host.adminUrl}/admin/solutions/shop/workbench/${id}/${part}`
    expect([part, (await ask(url, { headers: data(cookie) })).status]).toEqual([part, 403])
  }
})

test('WORKBENCH=read shows files without an editor, and WORKBENCH=off has no page and no link to it', async () => {
  for (const mode of ['read', 'off']) {
    const other = await startTestHost({ WORKBENCH: mode })
    try {
      await other.upload(
        'shop',
        await bundleOf({ name: 'shop', authenticator: 'DEFAULT' }, { 'globals.js': 'var b = 2\n' }),
      )
      const admin = await signInToAdmin(other)
      const page = await admin.get('/admin/solutions/shop/workbench?file=globals.js')
      expect([mode, page.status]).toEqual([mode, mode === 'read' ? 200 : 404])
      expect(page.text.includes('var b = 2')).toBe(mode === 'read')
      expect(page.text).not.toContain('id="workbench-start"')
      for (const path of ['', '/versions', '/log', '/login-page']) {
        const other = await admin.get(`/admin/solutions/shop${path}`)
        expect([path, mode, other.text.includes('/admin/solutions/shop/workbench')]).toEqual([
          path,
          mode,
          mode === 'read',
        ])
      }
      // In both modes, the start page doesn't offer to create a draft.
      expect((await admin.get('/admin/')).text).not.toContain('/workbench?draft=')
    } finally {
      await other.stop()
    }
  }
})
