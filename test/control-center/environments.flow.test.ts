import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CenterDatabase } from '../../control-center/database/tables.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'

let center: TestCenter
let db: CenterDatabase
beforeAll(async () => {
  center = await startTestCenter()
  db = await openCenterDatabase(center.parts.settings)
})
afterAll(async () => {
  await db?.destroy()
  await center?.stop()
})

const all = 'organisations/acme/environments'

async function report(environment: string, ago: number, health: string | null) {
  const last_seen_at = Date.now() - ago
  await db.insertInto('environment_states').values({ environment, last_seen_at, version: '1.2.3', health }).execute()
  return last_seen_at
}

test('an environment has a type, a state and solutions, and counts as never connected until a Satellite reports', async () => {
  const { id } = await center.environment('one')
  expect((await center.api('GET', `${all}/one`)).body).toEqual({
    name: 'one',
    type: 'onprem',
    createdAt: expect.any(Number),
    state: null,
    solutions: [],
  })
  const health = { health: 'warning', findings: ['The disk is nearly full.'] }
  const lastSeenAt = await report(id, 1000, JSON.stringify({ ...health, nodes: 1 }))
  const { body } = await center.api('GET', `${all}/one`)
  expect(body.state).toEqual({ isConnected: true, lastSeenAt, version: '1.2.3', health })
  expect((await center.api('GET', all)).body.items.find((item: { name: string }) => item.name === 'one').state).toEqual(
    body.state,
  )
  const browser = await signInToCenter(center)
  const [list, page] = [
    (await browser.get('/o/acme/environments')).text,
    (await browser.get('/o/acme/environments/one')).text,
  ]
  for (const text of [list, page]) expect(text).toContain('Connected, with warnings')
  expect(page).toContain('The disk is nearly full.')
})

test('the start page shows the first steps, then what the environments report', async () => {
  const { organisations, environments } = center.parts
  const { id } = await organisations.create(
    { name: 'fresh', title: 'Fresh <b>' },
    await center.account('a@example.org'),
  )
  const browser = await signInToCenter(center, 'a@example.org')
  const home = await browser.get('/')
  expect([home.status, home.headers.location]).toEqual([302, '/o/fresh'])
  const empty = (await browser.get('/o/fresh')).text
  expect(empty).toContain('0 of 5 done')
  expect(empty).toContain('<a class="button" href="/o/fresh/environments">Create environment</a>')
  expect(empty).not.toMatch(/All environments|<b>|!center\.|undefined/)

  for (const name of ['well', 'ill', 'new']) await environments.create(id, { name, type: 'onprem' })
  const all = await environments.list(id)
  const idOf = (name: string) => all.find((one) => one.name === name)?.id ?? ''
  await report(idOf('well'), 1000, JSON.stringify({ health: 'good', findings: [], nodes: 1 }))
  await report(idOf('ill'), 1000, JSON.stringify({ health: 'bad', findings: ['No <i>disk</i>'], nodes: 1 }))
  const page = (await browser.get('/o/fresh')).text
  for (const text of ['3 of 5 done', '2 of 3 connected', 'No &lt;i&gt;disk&lt;/i&gt;', '1.2.3', 'No rollouts yet']) {
    expect(page).toContain(text)
  }
  const order = [...page.matchAll(/href="\/o\/fresh\/environments\/(\w+)"/g)].map(([, name]) => name)
  expect(order).toEqual(['ill', 'well', 'new'])
  expect((await browser.get('/o/acme')).status).toBe(404)
})

test('a Satellite without a report for two minutes is disconnected; an invalid health report is ignored', async () => {
  const { id } = await center.environment('away')
  await report(id, 121_000, 'no JSON')
  const { state } = (await center.api('GET', `${all}/away`)).body
  expect([state.isConnected, state.health]).toEqual([false, null])
  const browser = await signInToCenter(center)
  const away = (await browser.get('/o/acme/environments/away')).text
  expect(away).toContain('Disconnected')
  expect(away).toContain('Check that the Satellite is running and can reach this control center')
  await center.environment('unused')
  const unused = (await browser.get('/o/acme/environments/unused')).text
  expect(unused).toContain('Create a token on the Credentials page')
  await report((await center.environment('near')).id, 1000, null)
  expect((await browser.get('/o/acme/environments/near')).text).not.toMatch(/No Satellite (?:is|has) connected/)
})

test('solutions can be added and removed by name', async () => {
  await center.environment('shops')
  const at = (name: string) => `${all}/shops/solutions/${name}`
  for (const name of ['shop', 'crm', 'shop']) expect((await center.api('PUT', at(name))).status).toBe(204)
  expect((await center.api('GET', `${all}/shops`)).body.solutions).toEqual(['crm', 'shop'])
  expect((await center.api('DELETE', at('crm'))).status).toBe(204)
  expect((await center.api('DELETE', at('crm'))).status).toBe(404)
  expect((await center.api('PUT', at('No_Name'))).status).toBe(422)
  expect((await center.api('PUT', `${all}/nowhere/solutions/shop`)).status).toBe(404)
})

test('an organisation has at most 200 environments', async () => {
  const { organisations, environments } = center.parts
  const name = 'crowded'
  const { id } = await organisations.create({ name, title: name }, await center.account('crowd@example.org'))
  for (let number = 0; number < 200; number++) await environments.create(id, { name: `e${number}`, type: 'onprem' })
  const token = await center.tokenOf('owner', name)
  const answer = await center.api('POST', `organisations/${name}/environments`, { name: 'more', type: 'prod' }, token)
  expect([answer.status, answer.body.detail]).toEqual([422, expect.stringContaining('at most 200 environments')])
  await environments.remove(id, 'e0')
  await environments.create(id, { name: 'more', type: 'prod' })
})

test('deleting an environment requires its name, and deletes its tokens and state', async () => {
  const { id, token } = await center.environment('gone')
  await report(id, 0, null)
  expect((await center.api('DELETE', `${all}/gone`)).status).toBe(422)
  expect((await center.api('DELETE', `${all}/gone?confirm=other`)).status).toBe(422)
  expect((await center.api('DELETE', `${all}/gone?confirm=gone`)).status).toBe(204)
  expect((await center.api('GET', `${all}/gone`)).status).toBe(404)
  expect((await center.api('DELETE', `${all}/gone?confirm=gone`)).status).toBe(404)
  expect(await center.parts.environmentTokens.find(token)).toBeNull()
  expect(await db.selectFrom('environment_states').selectAll().where('environment', '=', id).execute()).toEqual([])
})

test('another organisation’s environment is not found', async () => {
  const uid = await center.account('neighbour@example.org')
  await center.parts.organisations.create({ name: 'neighbours', title: 'Neighbours' }, uid)
  await center.environment('mine')
  const token = await center.tokenOf('owner', 'neighbours')
  const path = 'organisations/neighbours/environments/mine'
  expect((await center.api('GET', path, undefined, token)).status).toBe(404)
  expect((await center.api('DELETE', `${path}?confirm=mine`, undefined, token)).status).toBe(404)
  expect((await center.api('POST', `${path}/tokens`, { name: 'x' }, token)).status).toBe(404)
})

test('a viewer sees environments, but neither their tokens nor actions that change them', async () => {
  await center.environment('seen')
  const uid = await center.account('viewer@example.org')
  const acme = await center.parts.organisations.find('acme')
  const { token } = await center.parts.invitations.create(acme?.id ?? '', {
    email: 'viewer@example.org',
    role: 'viewer',
    invitedBy: 'test',
  })
  await center.parts.invitations.accept(token, uid)
  const browser = await signInToCenter(center, 'viewer@example.org')
  const page = await browser.get('/o/acme/environments/seen')
  expect(page.status).toBe(200)
  for (const text of ['data-api', 'Remote environment tokens', '/o/acme/members']) expect(page.text).not.toContain(text)
  expect((await browser.get('/o/acme/credentials')).status).toBe(403)
})
