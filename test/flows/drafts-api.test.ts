import { hash } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { apiOf, codeOf } from '../support/api.ts'
import { ask } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { bundleOf } from '../support/zip.ts'

type File = { path: string; etag: string; bytes: number; change: string }
type Draft = {
  id: string
  revision: number
  files: File[]
  removed: string[]
  base: { sha256: string; version: string } | null
  active: { sha256: string; version: string } | null
  nextVersion: string
  isOwn: boolean
}

let host: Awaited<ReturnType<typeof sharedHost>>
const { send, get, items } = apiOf(() => host)
const MEDIA = new Uint8Array([0, 255, 1, 254])
const sha256Of = (packed: Uint8Array) => hash('sha256', packed, 'hex')

beforeAll(async () => {
  host = await sharedHost()
})

/** Uploads a solution. @returns the SHA-256 */
async function addSolution(name: string, files = {}, version = '1.4.2'): Promise<string> {
  const packed = await bundleOf(
    { name, authenticator: 'NONE', version },
    { 'globals.js': 'var a = 1\n', 'scopes/b.js': 'var b = 2\n', 'media/a.bin': MEDIA, ...files },
  )
  expect((await host.upload(name, packed)).ok).toBe(true)
  return sha256Of(packed)
}

async function create(name: string, body: object): Promise<Draft> {
  const answer = await send('POST', `/solutions/${name}/drafts`, body)
  expect([answer.status, answer.status === 201 ? '' : answer.text]).toEqual([201, ''])
  return answer.json() as Draft
}

const at = (name: string, { id }: { id: string }, rest = '') => `/solutions/${name}/drafts/${id}${rest}`
const etagOf = ({ files }: Draft, path: string) => files.find((file) => file.path === path)?.etag ?? 'none'
const ifMatch = (etag: string) => ({ headers: { 'if-match': `"${etag}"` } })
const NEW = { headers: { 'if-none-match': '*' } }

function save(name: string, draft: { id: string }, path: string, text: string, options: object) {
  return send('PUT', at(name, draft, `/files/${path}`), { text }, options)
}

test('drafts: a draft lists the files of its base; saving, deleting, renaming and reverting change only the draft', async () => {
  const sha256 = await addSolution('edited')
  const draft = await create('edited', { base: sha256 })
  expect(draft).toMatchObject({
    isOwn: true,
    revision: 1,
    base: { sha256, version: '1.4.2' },
    active: { sha256, version: '1.4.2' },
    nextVersion: '1.4.3',
    removed: [],
  })
  expect(draft.files.map(({ path, change }) => [path, change])).toEqual([
    ['globals.js', 'none'],
    ['media/a.bin', 'none'],
    ['scopes/b.js', 'none'],
    ['solution.json', 'none'],
  ])
  const saved = await save('edited', draft, 'globals.js', 'var é = 1\n', ifMatch(etagOf(draft, 'globals.js')))
  expect([saved.status, saved.json()]).toEqual([
    200,
    { path: 'globals.js', etag: expect.any(String), bytes: 11, revision: 2 },
  ])
  expect((await save('edited', draft, 'scopes/new.js', 'var c\n', NEW)).status).toBe(201)
  const removed = await send(
    'DELETE',
    at('edited', draft, '/files/scopes/b.js'),
    undefined,
    ifMatch(etagOf(draft, 'scopes/b.js')),
  )
  expect([removed.status, removed.json()]).toEqual([200, { path: 'scopes/b.js', revision: 4 }])
  const names = { from: 'media/a.bin', to: 'media/sub/b.bin' }
  const renamed = await send('POST', at('edited', draft, '/rename'), names, ifMatch(etagOf(draft, 'media/a.bin')))
  expect(renamed.json()).toEqual({ path: 'media/sub/b.bin', etag: etagOf(draft, 'media/a.bin'), bytes: 4, revision: 5 })

  const after = (await get(at('edited', draft))) as unknown as Draft
  expect(after.files.map(({ path, change }) => [path, change])).toEqual([
    ['globals.js', 'changed'],
    ['media/sub/b.bin', 'added'],
    ['scopes/new.js', 'added'],
    ['solution.json', 'none'],
  ])
  expect(after.removed).toEqual(['media/a.bin', 'scopes/b.js'])
  expect(await get(at('edited', draft, '/files/globals.js'))).toMatchObject({ text: 'var é = 1\n', base64: null })
  expect(await get(at('edited', draft, '/files/globals.js?of=base'))).toMatchObject({
    text: 'var a = 1\n',
    revision: 5,
  })
  expect(await get(at('edited', draft, '/files/media/sub/b.bin'))).toMatchObject({
    text: null,
    base64: Buffer.from(MEDIA).toString('base64'),
  })
  expect(codeOf(await send('GET', at('edited', draft, '/files/scopes/b.js')))).toEqual([404, 'ERR_FILE_NOT_FOUND'])

  const reverted = await send('POST', at('edited', draft, '/revert'), { path: 'scopes/b.js' }, NEW)
  expect(reverted.json()).toEqual({ path: 'scopes/b.js', etag: etagOf(draft, 'scopes/b.js'), revision: 6 })
  const gone = await send(
    'POST',
    at('edited', draft, '/revert'),
    { path: 'scopes/new.js' },
    ifMatch(etagOf(after, 'scopes/new.js')),
  )
  expect(gone.json()).toEqual({ path: 'scopes/new.js', etag: null, revision: 7 })
  expect(await get('/solutions/edited')).toMatchObject({ active: sha256 })
})

test('drafts: a change requires the etag of the content that it replaces, so nobody overwrites another author’s change', async () => {
  const draft = await create('edited-twice', { base: await addSolution('edited-twice') })
  const path = at('edited-twice', draft, '/files/globals.js')
  const before = etagOf(draft, 'globals.js')
  for (const method of ['PUT', 'DELETE']) {
    const missing = await send(method, path, method === 'PUT' ? { text: '' } : undefined)
    expect(codeOf(missing)).toEqual([428, 'ERR_IF_MATCH_MISSING'])
  }
  const mine = await save('edited-twice', draft, 'globals.js', 'var mine\n', ifMatch(before))
  const { etag } = mine.json() as File
  const theirs = await save('edited-twice', draft, 'globals.js', 'var theirs\n', ifMatch(before))
  expect([theirs.status, theirs.json()]).toMatchObject([
    409,
    { code: 'ERR_CHANGED_MEANWHILE', path: 'globals.js', etag, revision: 2 },
  ])
  expect(codeOf(await send('DELETE', path, undefined, ifMatch(before)))).toEqual([409, 'ERR_CHANGED_MEANWHILE'])
  expect(codeOf(await save('edited-twice', draft, 'globals.js', 'x', NEW))).toEqual([409, 'ERR_CHANGED_MEANWHILE'])
  // The response to an earlier request was lost, so the page saves the same text again.
  const again = await save('edited-twice', draft, 'globals.js', 'var mine\n', ifMatch(before))
  expect([again.status, again.json()]).toMatchObject([200, { etag, revision: 2 }])
  const known = await send('GET', path, undefined, { headers: { 'if-none-match': `"${etag}"` } })
  expect([known.status, known.text, known.headers.etag]).toEqual([304, '', `"${etag}"`])
})

test('drafts: file names and sizes must follow the same rules as in a bundle', async () => {
  const draft = await create('named', { base: await addSolution('named') })
  const refused = async (path: string, text = '') => codeOf(await save('named', draft, path, text, NEW))
  expect(await refused('media/a%20b.txt')).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(await refused('media%2F..%2Fx')).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(await refused(`media/${'a'.repeat(250)}`)).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect((await save('named', draft, 'GLOBALS.js', '', NEW)).json()).toMatchObject({
    code: 'ERR_FILE_EXISTS',
    detail:
      '"GLOBALS.js" can’t be added, because "globals.js" exists: some file systems treat the two names as the same. Choose another name.',
  })
  expect((await save('named', draft, 'media/a.bin/b', '', NEW)).json()).toMatchObject({
    code: 'ERR_FILE_EXISTS',
    detail:
      '"media/a.bin/b" can’t be added, because "media/a.bin" exists: a file can’t also be a folder. Choose another name.',
  })
  expect(await refused('media')).toEqual([409, 'ERR_FILE_EXISTS'])
  expect(await refused('scopes/large.js', 'x'.repeat(1024 ** 2 + 1))).toEqual([413, 'ERR_BUNDLE_TOO_LARGE'])
  expect((await save('named', draft, 'media/large.txt', 'x'.repeat(1024 ** 2 + 1), NEW)).status).toBe(201)
  const taken = { from: 'scopes/b.js', to: 'globals.js' }
  const renamed = await send('POST', at('named', draft, '/rename'), taken, ifMatch(etagOf(draft, 'scopes/b.js')))
  expect(codeOf(renamed)).toEqual([409, 'ERR_FILE_EXISTS'])
  const base64 = await send('PUT', at('named', draft, '/files/media/x.bin'), { base64: 'AP8B/g' }, NEW)
  expect(codeOf(base64)).toEqual([422, 'ERR_REQUEST_INVALID'])
  const bytes = await send('PUT', at('named', draft, '/files/media/x.bin'), { base64: 'AP8B/g==' }, NEW)
  expect(bytes.json()).toMatchObject({ bytes: 4, etag: etagOf(draft, 'media/a.bin') })
})

test('drafts: a file can have BUNDLE_SIZE bytes, also as base64; for a larger one, the error contains the limit', async () => {
  const small = await sharedHost({ BUNDLE_SIZE: '90k' })
  const most = 90 * 1024
  const { send: sendTo } = apiOf(() => small)
  const draft = (await sendTo('POST', '/solutions/heavy/drafts', { template: 'solution' })).json() as Draft
  const put = (file: string, body: object) => sendTo('PUT', at('heavy', draft, `/files/media/${file}`), body, NEW)
  const base64 = (bytes: number) => ({ base64: Buffer.alloc(bytes, 254).toString('base64') })
  expect((await put('a.bin', base64(most))).json()).toMatchObject({ bytes: most })
  expect((await put('a.txt', { text: 'x'.repeat(most) })).json()).toMatchObject({ bytes: most })
  for (const body of [base64(most + 1), { text: 'x'.repeat(most + 1) }, base64(2 * most)]) {
    const refused = await put('b.bin', body)
    expect(codeOf(refused)).toEqual([413, 'ERR_BUNDLE_TOO_LARGE'])
    expect(refused.text).toContain('too large to save in a draft: at most 92160 bytes are allowed')
  }
})

test('drafts: a check reports errors at their line, like an upload', async () => {
  const sha256 = await addSolution('checked')
  const draft = await create('checked', { base: sha256 })
  expect((await send('POST', at('checked', draft, '/check'))).json()).toEqual({
    revision: 1,
    sha256,
    faults: [],
    warnings: [],
  })
  await save('checked', draft, 'globals.js', 'var a = 1\nvar b = (\n', ifMatch(etagOf(draft, 'globals.js')))
  const { faults, revision } = (await send('POST', at('checked', draft, '/check'))).json() as Record<string, unknown>
  expect([revision, faults]).toMatchObject([
    2,
    [{ file: 'globals.js', code: 'script_syntax', advice: expect.any(String) }],
  ])
  const renamed = { text: JSON.stringify({ name: 'other', version: '1.0.0', authenticator: 'NONE' }) }
  await send('PUT', at('checked', draft, '/files/solution.json'), renamed, ifMatch(etagOf(draft, 'solution.json')))
  const results = await Promise.all(Array.from({ length: 5 }, () => send('POST', at('checked', draft, '/check'))))
  const found = results.map((one) => one.json() as { revision: number; faults: { message: string }[] })
  expect(found.at(-1)).toMatchObject({
    revision: 3,
    faults: [{ message: expect.stringContaining('"name" must be "checked"') }],
  })
})

test('drafts: a new solution is created from the template and published; its exported ZIP file has the published bytes', async () => {
  expect(await get('/solutions/brand-new/drafts')).toMatchObject({ items: [], mode: 'edit', active: null })
  const draft = await create('brand-new', { template: 'login-page' })
  expect([draft.base, draft.active, draft.nextVersion]).toEqual([null, null, '1.0.0'])
  expect(draft.files.map(({ path }) => path)).toContain('media/login.html')
  const path = at('brand-new', draft, '/files/media/login.html')
  const { text, etag } = (await get(path)) as { text: string; etag: string }
  await send('PUT', path, { text: text.replace('</form>', '</form><p>My own page</p>') }, ifMatch(etag))
  expect((await send('POST', at('brand-new', draft, '/check'))).json()).toMatchObject({ faults: [], revision: 2 })
  const published = await send('POST', at('brand-new', draft, '/publish'), { over: null, version: '1.0.0' })
  const done = published.json() as { sha256: string; revision: number }
  expect([published.status, done]).toMatchObject([
    201,
    { name: 'brand-new', version: '1.0.0', active: true, revision: 3 },
  ])
  const page = await ask(`${host.url}/solution/brand-new/index.html`, {})
  expect([page.status, page.text.includes('My own page')]).toEqual([200, true])
  const zip = async (at: string) =>
    Buffer.from(
      await (await fetch(`${host.url}/admin/api${at}`, { headers: { authorization: host.admin } })).arrayBuffer(),
    )
  expect(sha256Of(await zip(at('brand-new', draft, '/bundle')))).toBe(done.sha256)
  expect(await zip(`/solutions/brand-new/versions/${done.sha256}/bundle`)).toEqual(
    await zip(at('brand-new', draft, '/bundle')),
  )
  expect(await get(at('brand-new', draft))).toMatchObject({
    changedFiles: 0,
    base: { sha256: done.sha256 },
    nextVersion: '1.0.1',
  })
  const taken = await send('POST', '/solutions/brand-new/drafts', { template: 'solution' })
  expect(codeOf(taken)).toEqual([409, 'ERR_SOLUTION_EXISTS'])
  const noted = await items('/audit?solution=brand-new')
  expect(noted.map(({ action, target, outcome }) => [action, target, outcome])).toEqual([
    ['draft-create', 'solution:brand-new', 'ERR_SOLUTION_EXISTS'],
    ['draft-publish', `version:${done.sha256.slice(0, 12)}`, 'ok'],
    ['draft-create', `draft:${draft.id}`, 'ok'],
  ])
})

test('drafts: publishing returns 409 if another version was deployed in the meantime; a rebase merges files that changed on one side only', async () => {
  const base = await addSolution('raced')
  const draft = await create('raced', { base })
  await save('raced', draft, 'globals.js', 'var mine\n', ifMatch(etagOf(draft, 'globals.js')))
  const deployed = await addSolution('raced', { 'scopes/b.js': 'var theirs\n' }, '1.4.2')
  const publish = (over: string) => send('POST', at('raced', draft, '/publish'), { over, version: '1.5.0' })
  const late = await publish(base)
  expect([late.status, late.json()]).toMatchObject([
    409,
    { code: 'ERR_CHANGED_MEANWHILE', active: deployed, activatedBy: 'admin', activatedAt: expect.any(Number) },
  ])
  const rebase = (choices?: object) => send('POST', at('raced', draft, '/rebase'), { onto: deployed, choices })
  expect((await rebase()).json()).toMatchObject({
    isDone: true,
    base: { sha256: deployed },
    taken: ['scopes/b.js'],
    conflicts: [],
  })
  expect(await get(at('raced', draft, '/files/scopes/b.js'))).toMatchObject({ text: 'var theirs\n' })
  expect(await get(at('raced', draft, '/files/globals.js'))).toMatchObject({ text: 'var mine\n' })
  const { files, manifest } = (await get(at('raced', draft, '/diff'))) as {
    files: { file: string }[]
    manifest: object
  }
  expect([files.map(({ file }) => file), manifest]).toEqual([['globals.js'], []])
  const published = await publish(deployed)
  expect(published.json()).toMatchObject({ version: '1.5.0', active: true })
  expect(await get(at('raced', draft, '/files/solution.json'))).toMatchObject({
    text: JSON.stringify({ name: 'raced', version: '1.5.0', authenticator: 'NONE' }),
  })
})

test('drafts: a rebase with a file that changed on both sides does nothing until the author chooses', async () => {
  const base = await addSolution('torn')
  const draft = await create('torn', { base })
  for (const path of ['globals.js', 'scopes/b.js'])
    await save('torn', draft, path, 'var mine\n', ifMatch(etagOf(draft, path)))
  const onto = await addSolution('torn', { 'globals.js': 'var theirA\n', 'scopes/b.js': 'var theirB\n' })
  const rebase = async (choices?: object) =>
    (await send('POST', at('torn', draft, '/rebase'), { onto, choices })).json() as {
      isDone: boolean
      revision: number
      taken: string[]
      conflicts: { path: string; base: string }[]
    }
  const torn = await rebase({ 'globals.js': 'draft' })
  expect([torn.isDone, torn.revision, torn.taken]).toEqual([false, 3, []])
  expect(torn.conflicts.map(({ path, base: etag }) => [path, etag])).toEqual([
    ['scopes/b.js', etagOf(draft, 'scopes/b.js')],
  ])
  expect(await get(at('torn', draft, '/files/scopes/b.js?of=active'))).toMatchObject({ text: 'var theirB\n' })
  const settled = await rebase({ 'globals.js': 'draft', 'scopes/b.js': 'onto' })
  expect([settled.isDone, settled.taken]).toEqual([true, ['scopes/b.js']])
  expect(await get(at('torn', draft, '/files/globals.js'))).toMatchObject({ text: 'var mine\n' })
  expect(await get(at('torn', draft, '/files/scopes/b.js'))).toMatchObject({ text: 'var theirB\n' })
})

test('drafts: if two drafts are published over the same version, only one succeeds', async () => {
  const base = await addSolution('contested')
  const drafts = [await create('contested', { base }), await create('contested', { base })]
  for (const [n, draft] of drafts.entries())
    await save('contested', draft, 'globals.js', `var n = ${n}\n`, ifMatch(etagOf(draft, 'globals.js')))
  const answers = await Promise.all(
    drafts.map((draft) => send('POST', at('contested', draft, '/publish'), { over: base, version: '2.0.0' })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
  const won = answers.find(({ status }) => status === 201)?.json() as { sha256: string }
  expect(await get('/solutions/contested')).toMatchObject({ active: won.sha256 })
})

test('drafts: a draft with errors is not published, and the active version stays', async () => {
  const base = await addSolution('broken')
  const draft = await create('broken', { base })
  await save('broken', draft, 'globals.js', 'var (', ifMatch(etagOf(draft, 'globals.js')))
  const refused = await send('POST', at('broken', draft, '/publish'), { over: base, version: '1.4.3' })
  expect([refused.status, refused.json()]).toMatchObject([
    422,
    { code: 'ERR_BUNDLE_REFUSED', faults: [{ file: 'globals.js', line: 1, source: 'var (' }] },
  ])
  expect(codeOf(await send('POST', at('broken', draft, '/publish'), { over: base, version: 'new' }))).toEqual([
    422,
    'ERR_REQUEST_INVALID',
  ])
  expect(await get('/solutions/broken')).toMatchObject({ active: base })
})

test('drafts: a draft’s base can’t be erased; a token sees the drafts of its own solution only, and is the owner of those that it created', async () => {
  const base = await addSolution('guarded')
  await addSolution('guarded', { 'scopes/c.js': '' }, '2.0.0')
  const draft = await create('guarded', { base })
  const version = `/solutions/guarded/versions/${base}`
  expect(codeOf(await send('DELETE', version))).toEqual([409, 'ERR_VERSION_IN_USE'])
  const made = await send('POST', '/tokens', { name: 'guard', scopes: ['solutions:guarded:write'] })
  const { id, token } = made.json() as { id: string; token: string }
  const authorization = `Bearer ${token}`
  const seen = await send('GET', '/solutions/guarded/drafts', undefined, { authorization })
  expect(seen.json()).toMatchObject({ items: [{ id: draft.id, owner: 'admin', isOwn: false }] })
  const own = await send('POST', '/solutions/guarded/drafts', { base }, { authorization })
  expect(own.json()).toMatchObject({ owner: `token:${id}`, isOwn: true })
  expect(codeOf(await send('GET', '/solutions/other/drafts', undefined, { authorization }))).toEqual([
    403,
    'ERR_FORBIDDEN',
  ])
  expect(codeOf(await send('GET', `/solutions/torn/drafts/${draft.id}`))).toEqual([404, 'ERR_DRAFT_NOT_FOUND'])
  for (const one of [draft, own.json() as Draft]) expect((await send('DELETE', at('guarded', one))).status).toBe(204)
  expect(codeOf(await send('GET', at('guarded', draft)))).toEqual([404, 'ERR_DRAFT_NOT_FOUND'])
  expect((await send('DELETE', version)).status).toBe(204)
  const discarded = await items('/audit?action=draft-discard&solution=guarded')
  expect(discarded.map(({ actor, target, outcome }) => [actor, target, outcome])).toEqual([
    ['admin', `draft:${(own.json() as Draft).id}`, 'ok'],
    ['admin', `draft:${draft.id}`, 'ok'],
  ])
})

test('drafts: invalid requests to create a draft are refused', async () => {
  const base = await addSolution('refusing')
  const refused = async (name: string, body: object) => codeOf(await send('POST', `/solutions/${name}/drafts`, body))
  expect(await refused('refusing', {})).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(await refused('refusing', { base: '0'.repeat(64) })).toEqual([404, 'ERR_VERSION_NOT_FOUND'])
  expect(await refused('Not-A-Name', { template: 'solution' })).toEqual([422, 'ERR_REQUEST_INVALID'])
  const login = await create('refusing', { base, template: 'login-page' })
  expect(login.files.find(({ path }) => path === 'media/login.html')?.change).toBe('added')
})

test('versions: each file of a version can be read', async () => {
  const sha256 = await addSolution('readable')
  const at = `/solutions/readable/versions/${sha256}/files`
  const { files } = (await get(at)) as { files: File[] }
  expect(files.map(({ path, bytes }) => [path, bytes])).toEqual([
    ['globals.js', 10],
    ['media/a.bin', 4],
    ['scopes/b.js', 10],
    ['solution.json', expect.any(Number)],
  ])
  const file = await send('GET', `${at}/globals.js`)
  expect([file.headers['content-type'], file.json()]).toEqual([
    'application/json; charset=utf-8',
    { path: 'globals.js', etag: files[0]?.etag, bytes: 10, text: 'var a = 1\n', base64: null },
  ])
  expect(codeOf(await send('GET', `${at}/none.js`))).toEqual([404, 'ERR_FILE_NOT_FOUND'])
})

test('WORKBENCH=read allows no new drafts, and with WORKBENCH=off there is no workbench', async () => {
  const [reading, off] = [await sharedHost({ WORKBENCH: 'read' }), await sharedHost({ WORKBENCH: 'off' })]
  const toReading = apiOf(() => reading)
  expect(await toReading.get('/solutions/x/drafts')).toMatchObject({ items: [], mode: 'read' })
  const refused = await toReading.send('POST', '/solutions/x/drafts', { template: 'solution' })
  expect(codeOf(refused)).toEqual([403, 'ERR_WORKBENCH_READ_ONLY'])
  expect(codeOf(await apiOf(() => off).send('GET', '/solutions/x/drafts'))).toEqual([404, 'ERR_NOT_FOUND'])
})
