import { beforeAll, expect, test } from 'vitest'
import { sharedHost } from '../support/shared-host.ts'
import { addDefaultSolution, askAdmin, visit } from '../support/users.ts'

let host: Awaited<ReturnType<typeof sharedHost>>
beforeAll(async () => {
  host = await sharedHost()
  await addDefaultSolution(host, 'token-crm', { permissions: ['Users'] })
  await addDefaultSolution(host, 'token-other')
})

async function makeToken(solution = 'token-crm', permissions = ['Users']): Promise<string> {
  const login = { username: 'visitor', uid: 'v-1', permissions }
  return (await askAdmin(host, 'POST', `solutions/${solution}/login-tokens`, login)).token as string
}

test('a login token in the field id_token signs its user in only once', async () => {
  const id_token = await makeToken()
  const browser = await visit(host, 'token-crm')
  const answer = await browser.post(browser.page, { id_token, username: '', password: '', remember: 'on' })
  expect(answer.status).toBe(303)
  expect((await browser.session()).json()).toMatchObject({ username: 'visitor', uid: 'v-1', permissions: ['Users'] })
  expect(browser.cookie('remember')).toBeUndefined()
  const again = await visit(host, 'token-crm')
  expect((await again.post(again.page, { id_token })).status).toBe(401)
})

test('of ten browsers that use one token at the same time, only one is signed in', async () => {
  const id_token = await makeToken()
  const browsers = await Promise.all(Array.from({ length: 10 }, () => visit(host, 'token-crm')))
  const answers = await Promise.all(browsers.map((browser) => browser.post(browser.page, { id_token })))
  expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array(9).fill(401)])
})

test.each([
  ['for another solution', () => makeToken('token-other')],
  ['that was modified', async () => `${(await makeToken()).slice(0, -2)}xx`],
  ['that is invalid', async () => 'x'.repeat(5000)],
])('a token %s is rejected, is recorded in the audit log, and is not passed to a script', async (_case, make) => {
  const browser = await visit(host, 'token-crm')
  const id_token = await make()
  const answer = await browser.post(browser.page, { id_token })
  expect(answer.status).toBe(401)
  expect((await browser.session()).status).toBe(401)
  expect(host.logged()).not.toContain(id_token)
})

test('the login page has an empty field id_token', async () => {
  const browser = await visit(host, 'token-crm')
  expect((await browser.open()).text).toMatch(/<input type="hidden" name="id_token"(?! value="[^"]+")/)
})
