import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openOnce } from '../support/client-page.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'

/** This text must not appear in any log, audit log entry or value returned to a script. */
const SECRET = 'secret-of-the-operator'
const GUESS = 'a guess of thirty letters here'

/** A script that runs the code from the URL. It logs a line that identifies the run, followed by the result. */
const RUNS_CODE = `async function onSolutionOpen(arg, q) {
  if (q.code === undefined) return
  application.output('run ' + q.run)
  try {
    const value = await eval('(async () => {' + q.code + '})()')
    application.output('result ' + JSON.stringify(value === undefined ? null : value))
  } catch (error) {
    application.output('refused ' + error)
  }
}`

/** An authenticator that signs in every user as an administrator. */
const SAYS_ADMINISTRATOR = `async function onSolutionOpen(arg, q) {
  if (!q.username) return
  security.login(q.username, q.custom_uid, ['Administrators'])
  if (q.custom_at_once) await security.createUser('made-at-once', ${JSON.stringify(PASSWORD)})
}`

const service = createServer((request, response) => {
  received.push(`${request.url} ${JSON.stringify(request.headers)}`)
  response.end('{}')
})
const received: string[] = []
let host: TestHost
/** The uids of a user who may manage the users table (`boss`) and of a user who may not (`plain`). */
let boss: string
let plain: string
/** The service is on the list of allowed hosts; the port of the Solhost host itself is not. */
let place: string
let port: string

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  place = `127.0.0.1:${(service.address() as AddressInfo).port}`
  // Restores the default limits on password guesses.
  host = await startTestHost({
    THROTTLE_ACCOUNT_NETWORK: '5',
    THROTTLE_ACCOUNT: '20',
    HTTP_ALLOWED_HOSTS: place,
    TRUSTED_PROXIES: '127.0.0.1',
    // Longer than five sign-ins take on a busy machine.
    QUERY_TIME: '5s',
    CALL_TIME: '15s',
    // One browser runs many snippets in sequence, each in its own client.
    CLIENTS_SESSION: '1000',
  })
  port = new URL(host.url).port
  boss = await addUser(host, 'boss', { permissions: ['Administrators', 'Users'] })
  plain = await addUser(host, 'plain')
  for (const name of ['granted', 'closed', 'neighbour']) await addRunning(name)
  await grant('granted', { users: true })
})
afterAll(async () => {
  await host.stop()
  await new Promise((resolve) => service.close(resolve))
})

type Browser = Awaited<ReturnType<typeof visit>>
type Line = { readonly message: string; readonly correlationId?: string; readonly level: string }

/** Adds a solution that runs any code it receives from a signed-in user of the users table. */
function addRunning(name: string): Promise<void> {
  const databases = { own: { server: 'embedded' }, crm: { server: 'alpha', database: 'crm' } }
  const http = [place, `127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]
  return addDefaultSolution(host, name, { databases, http }, { 'globals.js': RUNS_CODE })
}

function grant(solution: string, more: Record<string, unknown>): Promise<unknown> {
  return askAdmin(host, 'PUT', `solutions/${solution}/grants`, { databases: {}, http: [], users: false, ...more })
}

/** Each sign-in uses a different network, so that they do not share a throttle counter. */
let networks = 0
async function signedIn(solution: string, username: string): Promise<Browser> {
  const browser = await visit(host, solution, { 'x-forwarded-for': `10.0.${networks >> 8}.${networks++ & 255}` })
  const { status } = await browser.signIn(username)
  if (status !== 303) throw new Error(`${username} was answered ${status}`)
  return browser
}

async function logOf(solution: string): Promise<readonly Line[]> {
  return (await askAdmin(host, 'GET', `solutions/${solution}/log?limit=1000`)).items as Line[]
}

/** Runs code in a new client. @returns the lines that it wrote into the solution's log */
async function linesOf(solution: string, browser: Browser, code: string): Promise<readonly string[]> {
  const run = randomUUID()
  await openOnce(host.url, solution, browser, `?${new URLSearchParams({ code, run })}`)
  const lines = await logOf(solution)
  const id = lines.find(({ message }) => message === `run ${run}`)?.correlationId
  return lines.filter(({ correlationId }) => correlationId === id).map(({ message }) => message)
}

/** Runs code in a new client. @returns only its result */
async function run(solution: string, browser: Browser, code: string): Promise<string> {
  return (await linesOf(solution, browser, code)).find((line) => /^(result|refused) /.test(line)) ?? 'nothing'
}

async function auditOf(solution: string): Promise<readonly { outcome: string; action: string; actor: string }[]> {
  const { items } = await askAdmin(host, 'GET', `audit?limit=1000&solution=${solution}`)
  return items as { outcome: string; action: string; actor: string }[]
}

function permissionsOf(uid: string): Promise<unknown> {
  return askAdmin(host, 'GET', `users/${uid}`).then(({ permissions }) => permissions)
}

const textOf = (value: unknown) => JSON.stringify(value)

describe('administering the users table', () => {
  const ACTS = [
    ['createUser', () => `security.createUser('made', ${textOf(PASSWORD)})`],
    ['deleteUser', () => `security.deleteUser(${textOf(plain)})`],
    ['setPassword', () => `security.setPassword(${textOf(plain)}, 'one blue boat sails')`],
    ['addPermission', () => `security.addPermission(${textOf(plain)}, 'Administrators')`],
    ['removePermission', () => `security.removePermission(${textOf(boss)}, 'Administrators')`],
  ] as const

  async function expectUnchanged(): Promise<void> {
    expect(await permissionsOf(plain)).toEqual(['Users'])
    expect(await permissionsOf(boss)).toEqual(['Administrators', 'Users'])
    expect((await askAdmin(host, 'GET', 'users?search=made')).items).toEqual([])
    expect((await signedIn('neighbour', 'plain')).cookie('session')).toBeDefined()
  }

  beforeAll(async () => {
    await addAuthenticatorSolution(host, 'says', SAYS_ADMINISTRATOR, {}, { 'globals.js': RUNS_CODE })
    await grant('says', { users: true })
  })

  test.each(ACTS)(
    '%s by a user without the permission is rejected, and recorded in the log and the audit log',
    async (method, act) => {
      const browser = await signedIn('granted', 'plain')
      const lines = await linesOf('granted', browser, `return ${act()}`)
      expect(
        lines.filter((line) => line.includes(`security.${method} requires a signed-in user with the permission`)),
      ).toHaveLength(2)
      expect(await auditOf('granted')).toContainEqual(
        expect.objectContaining({ actor: 'solution:granted', action: 'script-request', outcome: 'refused' }),
      )
      await expectUnchanged()
    },
  )

  test.each(ACTS)('%s by an administrator in a solution without the grant is rejected', async (method, act) => {
    const browser = await signedIn('closed', 'boss')
    expect(await run('closed', browser, `return ${act()}`)).toContain(
      `security.${method}: the operator has not granted the users table to this solution`,
    )
    await expectUnchanged()
  })

  test.each(ACTS)('%s after security.login with an administrator’s uid and name is rejected', async (_method, act) => {
    const browser = await visit(host, 'says')
    expect((await browser.signIn('boss', 'any', { custom_uid: boss })).status).toBe(303)
    expect((await browser.session()).json()).toMatchObject({ uid: boss, permissions: ['Administrators'] })
    expect(await run('says', browser, `return ${act()}`)).toContain(
      'with the permission Administrators in the users table',
    )
    await expectUnchanged()
  })

  test('in the same call as security.login, a change to the users table is rejected, and the call does not sign the user in', async () => {
    const browser = await visit(host, 'says')
    const answer = await browser.signIn('boss', 'any', { custom_uid: boss, custom_at_once: 'yes' })
    expect(answer.status).toBe(401)
    expect(browser.cookie('session')).toBeUndefined()
    await expectUnchanged()
  })

  test('a login token with an administrator’s uid does not have their permissions', async () => {
    const login = { username: 'boss', uid: boss, permissions: ['Administrators'] }
    const { token } = await askAdmin(host, 'POST', 'solutions/granted/login-tokens', login)
    const browser = await visit(host, 'granted')
    expect((await browser.post(browser.page, { id_token: token as string })).status).toBe(303)
    expect((await browser.session()).json()).toMatchObject({ uid: boss })
    expect(await run('granted', browser, `return ${ACTS[3][1]()}`)).toContain('with the permission Administrators')
    await expectUnchanged()
  })

  test('an administrator of one solution cannot take over users who have permissions in other solutions', async () => {
    await addUser(host, 'local', { permissions: ['Users', { name: 'Administrators', solution: 'granted' }] })
    const browser = await signedIn('granted', 'local')
    for (const target of [boss, plain]) {
      for (const act of [`setPassword('${target}', 'one blue boat sails')`, `deleteUser('${target}')`]) {
        expect(await run('granted', browser, `return security.${act}`)).toContain('permissions outside this solution')
      }
    }
    expect(await run('granted', browser, `return security.createUser('locally-made', '${PASSWORD}')`)).toMatch(
      /^result/,
    )
    const [made] = (await askAdmin(host, 'GET', 'users?search=locally-made')).items as [{ uid: string }]
    expect(await run('granted', browser, `return security.addPermission('${made.uid}', 'Users')`)).toBe('result null')
    expect(await permissionsOf(made.uid)).toEqual([{ name: 'Users', solution: 'granted' }])
    expect(await run('granted', browser, `return security.deleteUser('${made.uid}')`)).toBe('result null')
    await expectUnchanged()
  })

  test('an administrator’s script cannot create a user whose name forges a log line', async () => {
    const browser = await signedIn('granted', 'boss')
    for (const name of ['made\r\nadmin', 'made\u2028admin', 'made\u202eadmin']) {
      expect(await run('granted', browser, `return security.createUser(${textOf(name)}, '${PASSWORD}')`)).toMatch(
        /^refused /,
      )
    }
    expect((await askAdmin(host, 'GET', 'users?search=made')).items).toEqual([])
  })
})

describe('querying the users table', () => {
  test.each([
    ['authenticate', () => `security.authenticate('plain', '${PASSWORD}')`],
    ['checkPassword', () => `security.checkPassword('${plain}', '${PASSWORD}')`],
    ['getUser', () => `security.getUser('plain')`],
  ])('%s without the grant is rejected, and recorded in the log and the audit log', async (method, ask) => {
    const browser = await signedIn('closed', 'plain')
    const lines = await linesOf('closed', browser, `return ${ask()}`)
    expect(lines.filter((line) => line.includes(`security.${method}: the operator has not granted`))).toHaveLength(2)
    expect(await auditOf('closed')).toContainEqual(
      expect.objectContaining({ action: 'script-request', outcome: 'refused' }),
    )
  })

  test('of 30 guesses in one call, only five are checked, even if a later one is correct, and the log and audit log show this', async () => {
    await addUser(host, 'guessed')
    const browser = await signedIn('granted', 'plain')
    const code = `const ends = []
      for (let n = 0; n < 30; n++) ends.push(await security.authenticate('guessed', n < 5 ? '${GUESS}' : '${PASSWORD}').catch(String))
      return ends.map((end) => end === null ? 'wrong' : typeof end === 'string' ? 'throttled' : 'right')`
    const lines = await linesOf('granted', browser, code)
    const result = lines.find((line) => line.startsWith('result ')) ?? ''
    expect(JSON.parse(result.slice(7))).toEqual([...Array(5).fill('wrong'), ...Array(25).fill('throttled')])
    expect(lines.filter((line) => line.startsWith('too many attempts for this account'))).not.toEqual([])
    expect(await auditOf('granted')).toContainEqual(
      expect.objectContaining({ actor: 'solution:granted', action: 'script-request', outcome: 'throttled' }),
    )
  })

  test('guesses in parallel, over many calls, with either method and on the login page share one counter', async () => {
    const uid = await addUser(host, 'shared')
    const browser = await signedIn('granted', 'plain')
    expect(
      await run(
        'granted',
        browser,
        `return Promise.all([security.authenticate('SHARED', 'no'), security.checkPassword('${uid}', 'no')])`,
      ),
    ).toBe('result [null,false]')
    for (let call = 0; call < 3; call++) {
      expect(await run('granted', browser, `return security.authenticate(' shared ', 'no')`)).toBe('result null')
    }
    expect(await run('granted', browser, `return security.checkPassword('${uid}', '${PASSWORD}')`)).toContain(
      'too many',
    )
    const { signIn } = await visit(host, 'neighbour', { 'x-forwarded-for': `10.0.0.${networks - 1}` })
    expect((await signIn('shared')).status).toBe(429)
  })
})

describe('requests for resources that were not granted', () => {
  test('a database on a server that the manifest requests', async () => {
    const browser = await signedIn('closed', 'plain')
    expect(await run('closed', browser, `return plugins.database.query('crm', 'SELECT 1', [])`)).toBe(
      'refused Error: the operator has not granted the database crm to this solution; ask the operator to grant it',
    )
  })

  test('a database that the manifest does not request, including names of prototype properties', async () => {
    const browser = await signedIn('closed', 'plain')
    for (const name of ['platform', '__proto__', 'constructor', '../neighbour', '../platform']) {
      expect(await run('closed', browser, `return plugins.database.query(${textOf(name)}, 'SELECT 1', [])`)).toMatch(
        /^refused /,
      )
    }
  })

  test('a host that the manifest requests; the log and the audit log record it', async () => {
    const browser = await signedIn('closed', 'plain')
    const lines = await linesOf('closed', browser, `return plugins.http.fetch('http://${place}/closed')`)
    expect(lines.some((line) => line.includes('the operator has not granted'))).toBe(true)
    expect(received.some((line) => line.startsWith('/closed'))).toBe(false)
    expect(await auditOf('closed')).toContainEqual(
      expect.objectContaining({ actor: 'solution:closed', action: 'script-request', outcome: 'refused' }),
    )
  })

  test('the host’s own API, in every spelling of its address, even if granted by mistake', async () => {
    await addRunning('reaches')
    await grant('reaches', { http: [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, place] })
    const browser = await signedIn('reaches', 'plain')
    const spelt = ['127.0.0.1', 'localhost', 'LOCALHOST', 'localhost.', '127.1', '127.0.1', '0x7f000001', '0x7f.1']
    spelt.push('2130706433', '0177.0.0.1', '0', '0.0.0.0', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]')
    spelt.push('１２７.0.0.1', '127。0。0。1', 'user@127.0.0.1')
    const body = textOf({ databases: {}, http: [], users: true })
    for (const name of spelt) {
      const url = `http://${name}:${port}/admin/api/solutions/reaches/grants`
      const init = `{ method: 'PUT', headers: { authorization: ${textOf(host.admin)}, 'content-type': 'application/json' }, body: ${textOf(body)} }`
      const end = await run('reaches', browser, `return (await plugins.http.fetch(${textOf(url)}, ${init})).status`)
      expect(`${name}: ${end}`).toMatch(/: refused /)
    }
    expect(await askAdmin(host, 'GET', 'solutions/reaches/grants')).toMatchObject({ users: false })
    expect(await auditOf('reaches')).toContainEqual(
      expect.objectContaining({ action: 'script-request', outcome: 'refused' }),
    )
  })

  test('a secret is not inserted into a script’s request, and a header value cannot start another header', async () => {
    await addRunning('sends')
    await grant('sends', { http: [place] })
    await askAdmin(host, 'PUT', 'solutions/sends/secrets/KEY', { value: SECRET, hosts: [place] }, 204)
    const browser = await signedIn('sends', 'plain')
    const sent = `{ method: 'POST', headers: { 'x-key': '%%KEY%%' }, body: '%%KEY%%' }`
    expect(
      await run('sends', browser, `return (await plugins.http.fetch('http://${place}/sent', ${sent})).status`),
    ).toBe('result 200')
    expect(received.find((line) => line.startsWith('/sent'))).toContain('"x-key":"%%KEY%%"')
    expect(received.join()).not.toContain(SECRET)
    const split = `{ headers: { 'x-a': 'one\\r\\nx-b: two' } }`
    expect(await run('sends', browser, `return plugins.http.fetch('http://${place}/split', ${split})`)).toMatch(
      /^refused /,
    )
    expect(received.some((line) => line.startsWith('/split'))).toBe(false)
  })
})

describe('the embedded database', () => {
  let browser: Browser
  let neighbour: Browser
  let folder: string
  beforeAll(async () => {
    folder = host.home
    neighbour = await signedIn('neighbour', 'plain')
    await query('neighbour', neighbour, 'CREATE TABLE own (text TEXT)')
    await query('neighbour', neighbour, `INSERT INTO own VALUES ('of the neighbour')`)
    browser = await signedIn('closed', 'plain')
    await query('closed', browser, 'CREATE TABLE mine (text TEXT)')
  })

  function query(solution: string, one: Browser, sql: string): Promise<string> {
    return run(solution, one, `return plugins.database.query('own', ${textOf(sql)}, [])`)
  }

  const inFolder = (file: string) => join(folder, file).replaceAll("'", "''")
  test.each([
    ['ATTACH with the platform database', () => `ATTACH '${inFolder('platform.sqlite')}' AS p`],
    ['ATTACH with another solution’s file', () => `ATTACH '${inFolder('databases/neighbour.sqlite')}' AS n`],
    ['ATTACH with a URI', () => `ATTACH 'file:${inFolder('databases/neighbour.sqlite')}?mode=ro' AS n`],
    ['VACUUM INTO another file', () => `VACUUM INTO '${inFolder('databases/neighbour.sqlite')}'`],
    ['PRAGMA writable_schema', () => 'PRAGMA writable_schema = ON'],
    ['PRAGMA database_list, which reveals the path of the file', () => 'PRAGMA database_list'],
    ['the same PRAGMA used as a table', () => 'SELECT * FROM pragma_database_list'],
    ['PRAGMA temp_store_directory', () => `PRAGMA temp_store_directory = '/tmp'`],
    ['load_extension', () => `SELECT load_extension('/lib/x86_64-linux-gnu/libm.so.6')`],
    ['readfile', () => `SELECT readfile('/etc/passwd')`],
    ['writefile', () => `SELECT writefile('${inFolder('written')}', 'x')`],
    ['fts3_tokenizer', () => `SELECT hex(fts3_tokenizer('simple'))`],
    ['a virtual table that reads files', () => `CREATE VIRTUAL TABLE f USING csv(filename='/etc/passwd')`],
    ['a query of platform tables', () => 'SELECT * FROM users'],
    ['a query of platform secrets', () => 'SELECT * FROM secrets'],
    ['a table of another solution', () => 'SELECT * FROM own'],
    ['a second statement', () => `SELECT 1; DROP TABLE mine`],
    ['a second statement after a comment', () => `SELECT 1 /* ; */ ; DROP TABLE mine -- `],
    ['a transaction that stays open', () => 'BEGIN EXCLUSIVE'],
    ['a temporary table, which the next query would see', () => 'CREATE TEMP TABLE seen (text TEXT)'],
    ['a row that is too large', () => `SELECT hex(zeroblob(4000000)) AS row`],
    ['a value with a size of one gigabyte', () => 'SELECT length(zeroblob(999999999) || randomblob(999999999))'],
    [
      'too many rows',
      () => 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n LIMIT 20000',
    ],
  ])('%s is rejected, and the solution keeps running', async (_case, sql) => {
    expect(await query('closed', browser, sql())).toMatch(/^refused /)
    expect(await query('closed', browser, 'SELECT count(*) AS n FROM mine')).toBe('result [{"n":0}]')
    expect(await query('neighbour', neighbour, 'SELECT text FROM own')).toBe('result [{"text":"of the neighbour"}]')
  })

  test('an endless query does not block the event loop, so others can sign in', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, () => visit(host, 'neighbour')))
    const endless = `try {
      await plugins.database.query('own', 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n', [])
    } catch (error) { application.output('ended ' + error); throw error }`
    let isOver = false
    const opened = linesOf('closed', browser, endless).finally(() => (isOver = true))
    // If the query blocked the host, none of these sign-ins would finish before the query.
    for (const other of others) expect((await other.signIn('boss')).status).toBe(303)
    expect(isOver).toBe(false)
    expect((await opened).some((line) => line.startsWith('ended Error'))).toBe(true)
    expect(await query('closed', browser, 'SELECT count(*) AS n FROM mine')).toBe('result [{"n":0}]')
  })
})

describe('data of another solution', () => {
  test.each(['session', 'remember', 'known'])('another solution’s cookie %s is ignored', async (kind) => {
    const browser = await visit(host, 'neighbour', { 'x-forwarded-for': `10.1.0.${kind.length}` })
    expect((await browser.signIn('plain', PASSWORD, { remember: 'on' })).status).toBe(303)
    const value = browser.cookie(kind)
    if (value === undefined) throw new Error(`there is no cookie ${kind}`)
    const thief = await visit(host, 'closed')
    thief.cookies.set(`${kind}-closed`, { value, path: '/solution/closed/' })
    expect((await thief.open()).text).toContain('name="login_form"')
    expect((await thief.session()).status).toBe(401)
    // The attempt doesn't invalidate the user's own remembered login.
    browser.close()
    await browser.open()
    expect((await browser.session()).status).toBe(200)
  })

  test('a browser that is known in one solution is unknown in another solution', async () => {
    await addUser(host, 'known')
    const known = await visit(host, 'neighbour', { 'x-forwarded-for': '10.2.0.1' })
    await known.signIn('known')
    const thief = await visit(host, 'closed', { 'x-forwarded-for': '10.2.0.2' })
    thief.cookies.set('known-closed', { value: known.cookie('known') ?? '', path: '/solution/closed/' })
    for (let guess = 0; guess < 5; guess++) expect((await thief.signIn('known', GUESS)).status).toBe(401)
    expect((await thief.signIn('known')).status).toBe(429)
  })

  test('another solution’s login token does not sign its user in, and the attempt does not use it up', async () => {
    const login = { username: 'anna', uid: 'a-1', permissions: ['Users'] }
    const { token } = await askAdmin(host, 'POST', 'solutions/neighbour/login-tokens', login)
    const here = await visit(host, 'closed')
    expect((await here.post(here.page, { id_token: token as string })).status).toBe(401)
    const there = await visit(host, 'neighbour')
    expect((await there.post(there.page, { id_token: token as string })).status).toBe(303)
  })
})

test('a username with line breaks and control characters is one line in the audit log, and cannot set a header', async () => {
  const browser = await visit(host, 'neighbour')
  const answer = await browser.signIn('eve\r\nSet-Cookie: session-closed=x\u202e\u2028', GUESS)
  expect(answer.status).toBe(401)
  expect((answer.headers['set-cookie'] ?? []).join()).not.toContain('session-closed')
  const [entry] = await auditOf('neighbour')
  expect(entry?.actor).toBe('user:eve��Set-Cookie: session-closed=x��')
})

test('no guess, password or secret from these tests appears in a log or the audit log', async () => {
  const texts = [host.logged(), textOf((await askAdmin(host, 'GET', 'audit?limit=1000')).items)]
  for (const solution of ['granted', 'closed', 'neighbour', 'says', 'reaches', 'sends']) {
    texts.push(textOf(await logOf(solution)))
  }
  for (const text of texts) {
    for (const secret of [GUESS, PASSWORD, SECRET, host.admin]) expect(text).not.toContain(secret)
  }
})
