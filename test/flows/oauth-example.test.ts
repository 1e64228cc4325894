import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OAuthExample, startOAuthExample } from '../../examples/oauth.ts'
import { createPerson, deliver, type Page, type Person, signInAtProvider } from '../support/person.ts'
import { UNTHROTTLED } from '../support/unthrottled.ts'

let example: OAuthExample

beforeAll(async () => {
  const ports = { PORT: '0', ADMIN_PORT: '0', NORTH_PORT: '0', SOUTH_PORT: '0' }
  example = await startOAuthExample({ ...ports, ENVIRONMENT: 'prod', ...UNTHROTTLED })
})

afterAll(() => example?.stop())

test('many-providers: users of two tenants sign in with their own provider, and get their tenant, permissions and language', async () => {
  expect(await signInAs('north', 'anna')).toMatchObject({
    username: 'anna@north.example',
    uid: 'n-1',
    permissions: ['Users', 'Administrators'],
    tenant: ['north', -1],
    locale: 'en-GB',
  })
  expect(await signInAs('south', 'bram')).toMatchObject({
    username: 'bram@south.example',
    uid: 's-1',
    permissions: ['Users', 'Planners'],
    tenant: ['south', -1],
    locale: 'nl-BE',
  })
})

test('many-providers: a known email from the other tenant’s provider, and an unknown email, are rejected', async () => {
  for (const [tenant, account] of [
    ['south', 'eve'],
    ['north', 'nils'],
  ] as const) {
    const { person, page } = await arrive(tenant, account)
    expect(page.status).toBe(403)
    expect((await person.open(new URL('session', addressOf(tenant)).href)).status).toBe(401)
  }
})

test('many-providers: changing the tenant in the URL does not change the user’s tenant', async () => {
  const { person } = await arrive('north', 'anna')
  await person.open(addressOf('south'))
  expect((await sessionOf(person, 'north')).tenant).toEqual(['north', -1])
})

test('many-providers: a missing, unknown or malformed tenant shows a message, and the log contains the reason', async () => {
  const place = addressOf('north').replace(/\?.*/, '')
  const person = createPerson()
  const statuses: number[] = []
  for (const query of ['', '?tenant=east', '?tenant=../south', '?tenant=constructor']) {
    statuses.push((await person.open(`${place}${query}`)).status)
  }
  expect(statuses).toEqual([503, 503, 503, 503])
  const { origin } = new URL(place)
  const headers = { authorization: example.admin }
  const { items } = (await (await fetch(`${origin}/admin/api/solutions/many-providers/log`, { headers })).json()) as {
    items: { message: string }[]
  }
  const log = items.map(({ message }) => message).join('\n')
  expect(log).toContain('the URL must contain a tenant, such as index.html?tenant=north')
  expect(log).toContain('only letters, digits, underscores and hyphens')
  expect(log).toContain('no configuration matches the query parameters')
})

function addressOf(tenant: string): string {
  const found = example.tenants.find(({ name }) => name === tenant)
  if (found === undefined) throw new TypeError(`the example has no tenant "${tenant}"`)
  return found.address
}

async function arrive(tenant: string, account: string): Promise<{ person: Person; page: Page }> {
  const person = createPerson()
  const sent = await person.open(addressOf(tenant))
  const location = String(sent.headers.location)
  const password = `${account}-tries-${tenant}`
  const callback = await signInAtProvider(person, location, { account, password, from: sent.url })
  return { person, page: await deliver(person, callback) }
}

async function signInAs(tenant: string, account: string): Promise<Record<string, unknown>> {
  const { person } = await arrive(tenant, account)
  return sessionOf(person, tenant)
}

async function sessionOf(person: Person, tenant: string): Promise<Record<string, unknown>> {
  const { status, text } = await person.open(new URL('session', addressOf(tenant)).href)
  if (status !== 200) throw new Error(`not signed in: ${status} ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}
