import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiOf, codeOf } from '../support/api.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { type HostGroup, sharedProperties, startHostGroup } from '../support/host-group.ts'
import { type Answer, ask } from '../support/http.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

type File = { path: string; etag: string }
type Draft = { id: string; files: File[]; changedFiles: number }

describe.skipIf(postgresPath === undefined)('two hosts with one database, and drafts', () => {
  let server: TestServer
  let group: HostGroup

  const hostAt = (index: number) => apiOf(() => ({ url: group.hosts[index]?.url ?? '', admin: group.admin }))
  const [one, two] = [hostAt(0), hostAt(1)]

  beforeAll(async () => {
    server = await sharedPostgres()
    group = await startHostGroup(2, sharedProperties('alpha', server))
  }, SERVER_START + 60_000)
  afterAll(async () => {
    await group?.stop()
    await server?.stop()
  })

  /** Uploads a solution through the first host. @returns the SHA-256 */
  async function addSolution(name: string, version = '1.0.0'): Promise<string> {
    const files = { 'globals.js': 'var a = 1\n', 'scopes/b.js': 'var b = 1\n' }
    const packed = await bundleOf({ name, authenticator: 'NONE', version }, files)
    const answer = await ask(`${group.hosts[0]?.url}/admin/api/solutions/${name}`, {
      method: 'PUT',
      headers: { authorization: group.admin, 'content-type': 'application/zip' },
      body: packed,
    })
    expect(answer.status).toBe(201)
    return hash('sha256', packed, 'hex')
  }

  async function create(name: string, base: string): Promise<Draft> {
    const answer = await one.send('POST', `/solutions/${name}/drafts`, { base })
    expect(answer.status).toBe(201)
    return answer.json() as Draft
  }

  const at = (name: string, { id }: Draft, rest = '') => `/solutions/${name}/drafts/${id}${rest}`
  const etagOf = ({ files }: Draft, path: string) => files.find((file) => file.path === path)?.etag ?? 'none'

  function save(host: typeof one, name: string, draft: Draft, path: string, text: string) {
    const headers = { 'if-match': `"${etagOf(draft, path)}"` }
    return host.send('PUT', at(name, draft, `/files/${path}`), { text }, { headers })
  }

  /** @returns the index of the request that succeeded, its response, and the response to the refused request */
  function winnerOf(answers: readonly Answer[]): { won: number; winner: Answer; loser: Answer } {
    const won = answers.findIndex(({ status }) => status < 400)
    return { won, winner: answers[won] as Answer, loser: answers[1 - won] as Answer }
  }

  test('a draft saved through one host is read, changed and published through the other, and both serve the version', async () => {
    const base = await addSolution('handed-over')
    const draft = await create('handed-over', base)
    expect((await save(one, 'handed-over', draft, 'globals.js', 'var a = "one"\n')).status).toBe(200)
    expect(await two.items('/solutions/handed-over/drafts')).toMatchObject([{ id: draft.id, changedFiles: 1 }])
    expect(await two.get(at('handed-over', draft, '/files/globals.js'))).toMatchObject({ text: 'var a = "one"\n' })
    expect((await save(two, 'handed-over', draft, 'scopes/b.js', 'var b = "two"\n')).status).toBe(200)
    const published = await two.send('POST', at('handed-over', draft, '/publish'), { over: base, version: '1.1.0' })
    const { sha256 } = published.json() as { sha256: string }
    expect([published.status, sha256]).toEqual([201, expect.stringMatching(/^[0-9a-f]{64}$/)])
    for (const host of [one, two]) {
      await waitUntil(async () => expect(await host.get('/solutions/handed-over')).toMatchObject({ active: sha256 }))
      const files = `/solutions/handed-over/versions/${sha256}/files`
      expect(await host.get(`${files}/globals.js`)).toMatchObject({ text: 'var a = "one"\n' })
      expect(await host.get(`${files}/scopes/b.js`)).toMatchObject({ text: 'var b = "two"\n' })
      expect(await host.get(at('handed-over', draft))).toMatchObject({ changedFiles: 0, base: { sha256 } })
    }
  })

  test('if a file is saved through both hosts with the same etag, one request is refused and names the saved text', async () => {
    const draft = await create('saved-twice', await addSolution('saved-twice'))
    const texts = ['var a = "one"\n', 'var a = "two"\n']
    const answers = await Promise.all(
      [one, two].map((host, index) => save(host, 'saved-twice', draft, 'globals.js', texts[index] ?? '')),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const { won, winner, loser } = winnerOf(answers)
    const { etag } = winner.json() as File
    expect(loser.json()).toMatchObject({ code: 'ERR_CHANGED_MEANWHILE', path: 'globals.js', etag })
    for (const host of [one, two]) {
      expect(await host.get(at('saved-twice', draft, '/files/globals.js'))).toMatchObject({ text: texts[won], etag })
    }
  })

  test('different files that are saved through both hosts at the same time are all in the draft', async () => {
    const draft = await create('saved-apart', await addSolution('saved-apart'))
    const paths = Array.from({ length: 8 }, (_, index) => `scopes/new${index}.js`)
    const answers = await Promise.all(
      paths.map((path, index) =>
        hostAt(index % 2).send(
          'PUT',
          at('saved-apart', draft, `/files/${path}`),
          { text: `// ${path}\n` },
          { headers: { 'if-none-match': '*' } },
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 201))
    const after = (await two.get(at('saved-apart', draft))) as unknown as Draft & { revision: number }
    expect(after.files.map(({ path }) => path)).toEqual(expect.arrayContaining(paths))
    expect(after).toMatchObject({ revision: 9, changedFiles: 8 })
  })

  test('if two drafts are published through both hosts at the same time, one wins; the other keeps its changes, and can be rebased and published', async () => {
    const base = await addSolution('published-twice')
    const [first, second] = [await create('published-twice', base), await create('published-twice', base)] as const
    await save(one, 'published-twice', first, 'globals.js', 'var a = "one"\n')
    await save(two, 'published-twice', second, 'scopes/b.js', 'var b = "two"\n')
    const drafts = [
      { host: one, draft: first },
      { host: two, draft: second },
    ]
    const answers = await Promise.all(
      drafts.map(({ host, draft }) =>
        host.send('POST', at('published-twice', draft, '/publish'), { over: base, version: '2.0.0' }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
    const { won, winner, loser } = winnerOf(answers)
    const { sha256 } = winner.json() as { sha256: string }
    expect(codeOf(loser)).toEqual([409, 'ERR_CHANGED_MEANWHILE'])
    expect(loser.json()).toMatchObject({ active: sha256, activatedBy: 'admin' })

    const { host, draft } = drafts[1 - won] as (typeof drafts)[number]
    expect(await host.get(at('published-twice', draft))).toMatchObject({ changedFiles: 1, base: { sha256: base } })
    const rebased = await host.send('POST', at('published-twice', draft, '/rebase'), { onto: sha256 })
    expect(rebased.json()).toMatchObject({ isDone: true, conflicts: [] })
    const again = await host.send('POST', at('published-twice', draft, '/publish'), { over: sha256, version: '2.0.1' })
    expect(again.status).toBe(201)
    const files = `/solutions/published-twice/versions/${(again.json() as { sha256: string }).sha256}/files`
    expect(await host.get(`${files}/globals.js`)).toMatchObject({ text: 'var a = "one"\n' })
    expect(await host.get(`${files}/scopes/b.js`)).toMatchObject({ text: 'var b = "two"\n' })
  })
})
