import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHost, type TestHost } from '../support/host.ts'
import { type Ask, ask, createVisitor } from '../support/http.ts'
import { addDefaultSolution, addUser, PASSWORD } from '../support/users.ts'

// Without SOLUTION_ORIGIN, another solution's script can set cookies with our cookie names and a different path. The
// host can't tell from the names which cookies are its own, so it tries all of them.

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({ THROTTLE_ACCOUNT_NETWORK: '3' })
  await addDefaultSolution(host, 'crm')
  await addUser(host, 'anna')
})
afterAll(() => host.stop())

const PAGE = '/solution/crm/index.html'
const KINDS = ['session', 'remember', 'login', 'known', 'signed-out']
const planted = (number: number) =>
  Array.from({ length: number }, (_, n) => KINDS.map((kind) => `${kind}-crm=${String(n).repeat(43)}`)).flat()

/**
 * The number of planted cookies of each kind before and after the browser's own cookies, and the path they are sent to.
 * Browsers send cookies with longer paths first.
 */
type Planted = { readonly first?: number; readonly last?: number; readonly path?: string }

/** Simulates a browser that also sends the planted cookies while `plants.on` is set. */
function visit(plants: Planted & { on?: boolean }) {
  const visitor = createVisitor(host.url, {}, (url, options: Ask = {}) => {
    const { first = 0, last = 0, path = '/', on = false } = plants
    if (!on || !new URL(url).pathname.startsWith(path)) return ask(url, options)
    const own = options.headers?.cookie
    const cookie = [...planted(first), ...(own === undefined ? [] : [own]), ...planted(last)].join('; ')
    return ask(url, { ...options, headers: { ...options.headers, cookie } })
  })
  return {
    ...visitor,
    signIn: (password = PASSWORD) => visitor.post(PAGE, { username: 'anna', password, remember: 'on' }),
    session: () => visitor.get('/solution/crm/session'),
    close: () => ['session', 'login'].forEach((kind) => void visitor.cookies.delete(`${kind}-crm`)),
  }
}

const PLACES: readonly [string, Planted][] = [
  ['with a longer path', { first: 1 }],
  ['thirty with a longer path', { first: 30 }],
  ['with a shorter path', { last: 1 }],
  ['for only the page', { first: 1, path: PAGE }],
]

test.each(PLACES)('cookies planted %s do not hide a session, and do not prevent signing out', async (_, place) => {
  const plants = { ...place, on: false }
  const anna = visit(plants)
  await anna.get(PAGE)
  expect((await anna.signIn()).status).toBe(303)
  plants.on = true
  expect((await anna.session()).status).toBe(200)
  expect((await anna.get(PAGE)).text).toContain('Signed in as anna')
  const session = anna.cookies.get('session-crm')?.value
  expect((await anna.post('/solution/crm/logout', {})).status).toBe(303)
  const after = await ask(`${host.url}/solution/crm/session`, { headers: { cookie: `session-crm=${session}` } })
  expect(after.status).toBe(401)
})

test.each(PLACES)('cookies planted %s do not prevent a sign-in or a remembered login', async (_, place) => {
  const anna = visit({ ...place, on: true })
  await anna.get(PAGE)
  expect((await anna.signIn()).status).toBe(303)
  anna.close()
  expect((await anna.get(PAGE)).text).toContain('Signed in as anna')
  expect(anna.cookies.get('remember-crm')).toBeDefined()
})

test('a planted cookie does not hide the cookie of a known browser', async () => {
  const plants = { first: 1, on: false }
  const anna = visit(plants)
  await anna.get(PAGE)
  await anna.signIn()
  plants.on = true
  anna.close()
  anna.cookies.delete('remember-crm')
  await anna.get(PAGE)
  for (let attempt = 0; attempt < 4; attempt++) expect((await anna.signIn('wrong')).status).toBe(401)
  expect((await anna.signIn()).status).toBe(303)
})
