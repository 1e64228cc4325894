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
