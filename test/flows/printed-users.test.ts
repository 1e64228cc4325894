import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/cli.ts'
import { openClient } from '../support/client-page.ts'
import { ask, createVisitor, type Visitor } from '../support/http.ts'
import { type PrintedUser, readPrinted } from '../support/printed-start.ts'
import { openTerminal, tmuxPath } from '../support/terminal.ts'
import { askAdmin } from '../support/users.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HTML = { accept: 'text/html' }

async function signIn(url: string, { solution, tenant, username, password }: PrintedUser): Promise<Visitor> {
  const visitor = createVisitor(url)
  const page = `/solution/${solution}/index.html`
  await visitor.get(page)
  const of = tenant === undefined ? {} : { custom_tenant: tenant }
  const answer = await visitor.post(page, { username, password, ...of })
  expect([solution, username, answer.status]).toEqual([solution, username, 303])
  return visitor
}

/** The names of the buttons that a user sees on the first form of the example `orders`. */
async function buttonsOf(url: string, visitor: Visitor): Promise<string[]> {
  const client = await openClient(url, 'orders', visitor)
  client.close()
  return ['create', 'open', 'approve'].filter((name) => client.element('orders', name) !== '')
}

/** Signs in with the login form of `orders-login-form`. @returns whether its script accepted the user */
async function signInByForm(url: string, { username, password }: PrintedUser): Promise<boolean> {
  const visitor = createVisitor(url)
  await visitor.get('/solution/orders-login-form/index.html')
  const client = await openClient(url, 'orders-login-form', visitor)
  await client.enter('sign_in', 'username', username)
  await client.enter('sign_in', 'password', password)
  await client.press('sign_in', 'submit')
  client.close()
  return client.frames.some(({ kind }) => kind === 'sign-in')
}

test.skipIf(tmuxPath === undefined)(
  'on a terminal, every URL and user that the first start prints works, and the next start prints the same users',
  { timeout: 180_000 },
  async () => {
    using home = temporaryFolder()
    await using terminal = await openTerminal({
      cwd: ROOT,
      // The time limits are long, because the machine may be busy and this test does not check them.
      env: { PORT: '0', ADMIN_PORT: '0', PLATFORM_HOME: home.path, CALL_TIME: '60s', AUTHENTICATOR_TIME: '60s' },
    })
    await terminal.type('npm start')
    const { users, solutions, url, pages, access, host } = readPrinted(await terminal.until('Press Ctrl+C to stop it.'))
    expect(solutions).toEqual(['hello', 'orders', 'orders-login-form', 'tenant-login'])
    expect(users.map(({ solution, username }) => `${solution} ${username}`)).toEqual([
      'orders vera',
      'orders edith',
      'orders marco',
      'tenant-login anna',
      'tenant-login arjun',
      'tenant-login bram',
    ])
    for (const address of [
      `${url}/`,
      `${pages}sign-in`,
      ...solutions.map((one) => `${url}/solution/${one}/index.html`),
    ])
      expect([address, (await ask(address, { headers: HTML })).status]).toEqual([address, 200])
    expect((await ask(access, { headers: HTML })).headers.location).toContain('/admin/sign-in')

    const buttons: Record<string, string[]> = {}
    for (const user of users) {
      const visitor = await signIn(url, user)
      const session = (await visitor.get(`/solution/${user.solution}/session`)).json() as { permissions: string[] }
      expect([user.username, session.permissions.sort()]).toEqual([user.username, user.permissions])
      if (user.solution === 'orders') buttons[user.username] = await buttonsOf(url, visitor)
    }
    expect(buttons).toEqual({
      vera: ['open'],
      edith: ['create', 'open', 'approve'],
      marco: ['create', 'open', 'approve'],
    })

    // As the printed note says, no user can sign in before the grant. Afterwards, all users of "orders" can.
    const ofOrders = users.filter(({ solution }) => solution === 'orders')
    for (const user of ofOrders) expect(await signInByForm(url, user)).toBe(false)
    await askAdmin(host, 'PUT', 'solutions/orders-login-form/grants', { databases: {}, http: [], users: true })
    for (const user of ofOrders) expect([user.username, await signInByForm(url, user)]).toEqual([user.username, true])

    // A user whose password was changed is not printed, because the initial password no longer works.
    const { items } = (await askAdmin(host, 'GET', 'users')) as { items: { uid: string; username: string }[] }
    const edith = items.find(({ username }) => username === 'edith')?.uid ?? ''
    await askAdmin(host, 'PATCH', `users/${edith}`, { password: 'seven green tractors', mustChangePassword: false })
    await terminal.press('C-c')
    await terminal.until(/\[\d+\]\$\s*$/)
    await terminal.type('npm start')
    const again = readPrinted(await terminal.until('Press Ctrl+C to stop it.'))
    expect(again.users).toEqual(users.filter(({ username }) => username !== 'edith'))
    await terminal.press('C-c')
    await terminal.until(/\[\d+\]\$\s*$/)
    expect(statSync(join(home.path, 'example-users')).mode & 0o777).toBe(0o600)
  },
)
