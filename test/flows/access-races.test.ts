import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHost, type TestHost } from '../support/host.ts'
import { scaled } from '../support/scale.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
  await addDefaultSolution(host, 'crm')
})
afterAll(() => host.stop())

const ROUNDS = scaled(3, 15)
const AT_ONCE = 8

type Browser = Awaited<ReturnType<typeof visit>>

async function browsers(): Promise<Browser[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, () => visit(host, 'crm')))
}

async function signedIn(these: readonly Browser[]): Promise<number> {
  const statuses = await Promise.all(these.map(async (one) => (await one.session()).status))
  return statuses.filter((status) => status === 200).length
}

test.each([
  ['a user who is being disabled', { enabled: false }],
  ['a user who is losing the permission', { permissions: [] }],
  ['a user whose password the operator is changing', { password: 'one blue boat sails', mustChangePassword: false }],
])('%s during their sign-ins has no session afterwards, whichever finishes first', async (_case, change) => {
  for (let round = 0; round < ROUNDS; round++) {
    const uid = await addUser(host, `racer-${round}-${Object.keys(change)[0]}`)
    const { username } = (await askAdmin(host, 'GET', `users/${uid}`)) as { username: string }
    const these = await browsers()
    const logins = these.map((one) => one.signIn(username, PASSWORD, { remember: 'on' }))
    // Wait only for the first sign-in, so that the others are still in progress when the user changes.
    await Promise.race(logins)
    await Promise.all([...logins, askAdmin(host, 'PATCH', `users/${uid}`, change)])
    expect(await signedIn(these)).toBe(0)
    for (const one of these) one.close()
    await Promise.all(these.map((one) => one.open()))
    expect(await signedIn(these)).toBe(0)
  }
})

test('a user who is deleted while their remembered browsers return has no session afterwards', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const uid = await addUser(host, `remembered-${round}`)
    const these = await browsers()
    await Promise.all(these.map((one) => one.signIn(`remembered-${round}`, PASSWORD, { remember: 'on' })))
    for (const one of these) one.close()
    const opened = these.map((one) => one.open())
    await Promise.race(opened)
    await Promise.all([...opened, askAdmin(host, 'DELETE', `users/${uid}`, undefined, 204)])
    expect(await signedIn(these)).toBe(0)
  }
})

test('a user who is changing their password does not replace the one that the operator is setting', async () => {
  const [own, ofOperator] = ['nine quiet harbours', 'one blue boat sails']
  for (let round = 0; round < ROUNDS; round++) {
    const uid = await addUser(host, `changing-${round}`)
    const browser = await visit(host, 'crm')
    await browser.signIn(`changing-${round}`)
    await browser.get('/solution/crm/password')
    const change = browser.post('/solution/crm/password', { current: PASSWORD, new: own, repeat: own })
    await Promise.all([change, askAdmin(host, 'PATCH', `users/${uid}`, { password: ofOperator })])
    expect((await browser.signIn(`changing-${round}`, own)).status).toBe(401)
    expect((await browser.signIn(`changing-${round}`, ofOperator)).text).toContain('name="ticket"')
  }
})

test('if a form sets a required new password several times in parallel, only one of the passwords is set', async () => {
  await addUser(host, 'ticket', { mustChangePassword: true })
  const browser = await visit(host, 'crm')
  const ticket = /name="ticket" value="([^"]+)"/.exec((await browser.signIn('ticket')).text)?.[1] ?? ''
  const wanted = ['nine quiet harbours', 'one blue boat sails', 'many small boats go by']
  const changes = wanted.map((one) => browser.post('/solution/crm/password', { ticket, new: one, repeat: one }))
  const places = (await Promise.all(changes)).map(({ headers }) => headers.location)
  const page = '/solution/crm/index.html'
  expect(places.toSorted()).toEqual([page, page, `${page}?password-changed`])
})
