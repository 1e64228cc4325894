import { cpSync, existsSync, readdirSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { childrenOf } from '../long/processes.ts'
import { type CliRun, runCli, runCliProcess, startCli, temporaryFolder, writeFiles } from '../support/cli.ts'
import { waitUntil } from '../support/wait-until.ts'

// Runs `solhost test` with real sandboxes and databases.

const MANIFEST = '{ "name": "crm", "version": "1.0.0", "authenticator": "NONE" }\n'

/** Runs the tests of a solution that consists of these files. */
async function testOf(files: Record<string, string>, ...words: string[]) {
  using folder = temporaryFolder({ 'solution.json': MANIFEST, ...files })
  return await runCli(['test', ...words], { cwd: folder.path })
}

/** Runs the tests of an example solution, with these test files added. */
async function testOfExample(name: string, files: Record<string, string>) {
  using folder = temporaryFolder()
  cpSync(exampleFolder(name), folder.path, { recursive: true })
  writeFiles(folder.path, files)
  return await runCli(['test', '--json'], { cwd: folder.path })
}

const withoutTimes = (text: string) => text.replace(/ {2}\d+ ms$/gm, '  … ms').replace(/in [\d.]+ s\./, 'in … s.')

/** Maps test names to failure messages, for all test files or for those that match `some`. */
function resultsOf(out: string, some = /^/) {
  const { files } = JSON.parse(out) as {
    files: { file: string; failure: unknown; tests: { name: string; failure: { message: string } | null }[] }[]
  }
  const asked = files.filter(({ file }) => some.test(file))
  return asked.flatMap(({ failure, tests }) => [
    ...(failure === null ? [] : [failure]),
    ...tests.map((one) => [one.name, one.failure?.message ?? null]),
  ])
}

test('test: a solution created by init has a first test, which passes', async () => {
  using folder = temporaryFolder()
  expect((await runCli(['init', 'shop'], { cwd: folder.path })).code).toBe(0)
  const { code, out, err } = await runCliProcess(['test', 'shop'], { cwd: folder.path })
  expect([code, err, withoutTimes(out)]).toEqual([
    0,
    '',
    `globals.test.js
  ✓ greets the user named in the URL  … ms
  ✓ requires a name  … ms
2 passed in … s.
Next: solhost deploy shop <url>
`,
  ])
})

test('test: the output shows the lines of the script and the test for a failed assertion, a script error and an endless loop', async () => {
  const { code, out } = await testOf({
    'adds.test.js': `test('adds', () => {
  assert.equal({ rows: [{ sum: 3 }] }, { rows: [{ sum: 4 }] })
})

test('is well', () => {})
`,
    'globals.js': `function onSolutionOpen(arg, queryParams) {
  if (queryParams.loop) while (true) {}
  missing()
}
`,
    'opens.test.ts': `test('throws', async (): Promise<void> => {
  await solution.open()
})
test('loops', async () => {
  await solution.open({ params: { loop: 'yes' } })
})
test('gets the reason', async () => {
  const error = await assert.rejects(solution.open(), 'missing is not defined')
  assert.match(error.message, /^script_error at globals\\.js:3:3: /)
})
`,
  })
  expect([code, withoutTimes(out)]).toEqual([
    3,
    `adds.test.js
  ✗ adds  … ms
    adds.test.js:2:10  AssertionError: not equal at .rows[0].sum
      expected: {rows: [{sum: 4}]}
      received: {rows: [{sum: 3}]}
      2 │   assert.equal({ rows: [{ sum: 3 }] }, { rows: [{ sum: 4 }] })
        │          ^
  ✓ is well  … ms
opens.test.ts
  ✗ throws  … ms
    opens.test.ts:2:18  Error: script_error at globals.js:3:3: ReferenceError: missing is not defined
      2 │   await solution.open()
        │                  ^
    in the solution: globals.js:3:3  ReferenceError: missing is not defined
      3 │   missing()
        │   ^
  ✗ loops  … ms
    opens.test.ts:5:18  Error: script_timeout at globals.js:2:25: the call took longer than 2000 ms (limit CALL_TIME: 2000; used: ${/used: (\d+)/.exec(out)?.[1]})
      5 │   await solution.open({ params: { loop: 'yes' } })
        │                  ^
    in the solution: globals.js:2:25  the call took longer than 2000 ms
      2 │   if (queryParams.loop) while (true) {}
        │                         ^
  ✓ gets the reason  … ms
2 passed, 3 failed in … s.
Next: fix the problems above, then run solhost test .
`,
  ])
})

test('test: a hanging test is stopped at its time limit and reported at its loop; the other tests still run', async () => {
  const files = {
    'globals.test.js':
      "test('hangs', () => {\n  for (;;);\n})\ntest('waits', () => new Promise(() => {}))\ntest('is well', () => {})\n",
  }
  const { code, out } = await testOf(files, '--timeout', '1')
  expect([code, withoutTimes(out)]).toEqual([
    3,
    `globals.test.js
  ✗ hangs  … ms
    globals.test.js:2:3  the call took longer than 1000 ms, so the test was stopped
      2 │   for (;;);
        │   ^
  ✗ waits  … ms
    globals.test.js  the call took longer than 1000 ms, so the test was stopped
  ✓ is well  … ms
1 passed, 2 failed in … s.
Next: fix the problems above, then run solhost test .
`,
  ])
})

test('test: --filter selects tests by name or file; --json prints one object', async () => {
  const files = {
    'globals.test.js': "test('one', () => {})\ntest('two', () => { console.warn('!'); assert(false, 'not yet') })\n",
    'scopes/rates.test.js': "test('three', () => {})\n",
  }
  expect(JSON.parse((await testOf(files, '--json', '--filter', 'two')).out)).toMatchObject({
    ok: false,
    passed: 0,
    failed: 1,
    files: [
      {
        file: 'globals.test.js',
        failure: null,
        tests: [
          {
            name: 'two',
            failure: { code: 'script_error', file: 'globals.test.js', line: 2, column: 40 },
            log: [{ level: 'warn', message: '!', position: { file: 'globals.test.js', line: 2, column: 29 } }],
          },
        ],
      },
      { file: 'scopes/rates.test.js', failure: null, tests: [] },
    ],
  })
  const { code, out } = await testOf(files, '--json', '--filter', 'rates')
  expect([code, resultsOf(out)]).toEqual([0, [['three', null]]])
  const none = await testOf(files, '--filter', 'four')
  expect(none).toEqual({
    code: 2,
    out: 'globals.test.js\nscopes/rates.test.js\n',
    err: 'No test name or file name contains "four". Change --filter.\n',
  })
})

test('test: if there are no tests, the output says how to write one; solution errors are shown as in check', async () => {
  const none = await testOf({})
  expect([none.code, none.out]).toEqual([2, ''])
  expect(none.err).toMatch(
    /^"\." has no tests\. Write one next to the scripts, such as globals\.test\.js:\n\ntest\('opens/,
  )
  const files = { 'globals.js': 'function (', 'globals.test.js': "test('one', () => {})\n" }
  const faulty = await testOf(files)
  expect([faulty.code, faulty.err.split('\n')[0]]).toEqual([
    3,
    'globals.js:1:1  error script_syntax  SyntaxError: Function statements require a function name',
  ])
  expect(JSON.parse((await testOf(files, '--json')).out)).toMatchObject({
    ok: false,
    faults: [{ file: 'globals.js', line: 1 }],
  })
})

/** A solution with the files for several tests below. Its tests run only once, to save time. */
const MANY = {
  'solution.json': '{ "name": "crm", "version": "1.0.0", "authenticator": "NONE", "http": ["api.example.org"] }',
  'globals.js': `async function rate(currency) {
  const answer = await plugins.http.fetch('https://api.example.org/rates', { method: 'POST', body: currency })
  return (await answer.json()).rate
}
function elsewhere() { return plugins.http.fetch('https://other.example.org/') }
`,
  'forms/main.json': `{ "layout": [{ "columns": [{ "elements": [
    { "type": "button", "name": "go", "label": "Go", "onAction": "go", "enabled": false },
    { "type": "number", "name": "count", "label": "Count", "max": 9 },
    { "type": "button", "name": "secret", "label": "Secret", "onAction": "go", "permission": "Boss" },
    { "type": "text", "name": "name", "label": "Name" },
    { "type": "button", "name": "greet", "label": "Greet", "onAction": "greet" },
    { "type": "label", "name": "answer", "label": "-" }
  ] }] }] }`,
  'forms/main.js': "function go() {}\nfunction greet() { forms.main.elements.answer.label = 'first' }\n",
  // Test files that cannot be loaded.
  'a.test.js': 'test("one", () => {\n',
  'b.test.js': 'missing()\n',
  'c.test.js': 'const nothing = 1\n',
  'd.test.js': "test('well', () => {})\n",
  'e.test.js': "test('twice', () => {})\ntest('twice', () => {})\n",
  'f.test.js': 'for (;;);\n',
  'forms/main.test.js': `
test('not awaited', async () => { solution.open() })
test('disabled', async () => { await (await solution.open()).click('go') })
test('absent', async () => { await (await solution.open()).click('secret') })
test('wrong value', async () => { await (await solution.open()).type('count', 'two') })
test('wrong call', async () => { await solution.open({ users: 'anna' }) })
test('a value that a rule refuses is shown, as to a user', async () => {
  const client = await solution.open({ user: { username: 'bo', permissions: ['Boss'] } })
  await client.type('count', 12)
  assert.equal(client.elements.count, {
    type: 'number', label: 'Count', visible: true, enabled: true, value: 12, required: false,
    error: 'Maximum: 9.',
  })
  await client.click('secret')
})
test('over', async () => {
  const client = await solution.open()
  await client.close()
  await client.click('go')
})
test('at once', async () => {
  const client = await solution.open()
  await Promise.all([client.click('greet'), client.type('name', 'Ada'), client.click('greet')])
  assert.equal([client.elements.answer.label, client.elements.name.value], ['first', 'Ada'])
})
`,
  'http.test.js': `
test('the answer', async () => {
  await solution.answerHttp('https://api.example.org/rates', { body: { rate: 1.25 } })
  const client = await solution.open()
  assert.equal(await client.call('rate', 'EUR'), 1.25)
  const [seen] = await solution.httpRequests()
  assert.equal([seen.method, seen.body], ['POST', 'EUR'])
})
test('none', async () => { await (await solution.open()).call('rate', 'EUR') })
test('not asked for', async () => { await (await solution.open()).call('elsewhere') })
`,
  'node.test.js': `test('alone', () => {
  const there = ['process', 'require', 'fetch', 'XMLHttpRequest', 'WebAssembly', 'setTimeout', 'plugins', 'security']
  assert.equal(there.filter((name) => name in globalThis), [])
})
`,
}

describe('test: many files', () => {
  let run: CliRun
  beforeAll(async () => {
    run = await testOf(MANY, '--json')
  })

  test('a file that cannot be loaded, or has no test, is a separate failure', () => {
    expect(run.code).toBe(3)
    expect(resultsOf(run.out, /^[a-f]\.test\.js$/)).toMatchObject([
      { code: 'script_syntax', file: 'a.test.js', line: 2 },
      {
        code: 'script_error',
        message: 'ReferenceError: missing is not defined',
        file: 'b.test.js',
        line: 1,
        column: 1,
      },
      { message: 'the file has no tests; add one with test(name, run)', file: 'c.test.js' },
      ['well', null],
      {
        message: 'Error: two tests in this file have the name "twice"; rename one',
        file: 'e.test.js',
        line: 2,
        column: 1,
      },
      { code: 'script_timeout', file: 'f.test.js', line: 1, column: 1 },
    ])
  })

  test('a missing await and an impossible action are reported; simultaneous actions run in order', () => {
    expect(resultsOf(run.out, /^forms\/main\.test\.js$/)).toEqual([
      ['not awaited', 'Error: the test ended before solution.open finished: write "await solution.open(…)"'],
      ['disabled', 'Error: a user can’t use "go" now, because the element or its container is hidden or disabled'],
      [
        'absent',
        'Error: form "main": this user has no element "secret"; the available elements are: go, count, name, greet, answer',
      ],
      [
        'wrong value',
        'Error: form "main": the element "count" does not accept onElementDataChange with the value "two"',
      ],
      [
        'wrong call',
        expect.stringMatching(/^Error: solution\.open was called with invalid arguments \(argument 1: .*users/),
      ],
      ['a value that a rule refuses is shown, as to a user', null],
      ['over', 'Error: this client is closed or signed out; open another one with solution.open()'],
      ['at once', null],
    ])
  })

  test('HTTP requests get the declared responses and never leave the machine', () => {
    expect(resultsOf(run.out, /^http\.test\.js$/)).toEqual([
      ['the answer', null],
      [
        'none',
        expect.stringContaining(
          'no response is declared for POST https://api.example.org/rates: declare one with solution.answerHttp(',
        ),
      ],
      ['not asked for', expect.stringContaining('the manifest does not list other.example.org')],
    ])
  })

  test('tests have no access to Node.js, files and the network', () => {
    expect(resultsOf(run.out, /^node\.test\.js$/)).toEqual([['alone', null]])
  })
})

test('test: an authenticator gets the login page’s fields, and the test gets login, tenant, locale, result and commands', async () => {
  const { code, out } = await testOfExample('tenant-login', {
    'commands.test.js': `
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
test('commands', async () => {
  const { commands, log, milliseconds } = await solution.signIn({ ...ANNA, argument: 'x' })
  assert.equal(commands.map(({ name }) => name), ['security.login', 'security.setTenantValue', 'i18n.setLocale'])
  assert.equal(commands[1].args, [['acme', -1]])
  assert.equal(log, [])
  assert(milliseconds >= 0)
})
test('only texts', async () => { await solution.signIn({ ...ANNA, custom_tenant: 5 }) })
test('no OAuth', async () => { await solution.getOAuthConfig({}) })
`,
  })
  expect([code, resultsOf(out)]).toEqual([
    3,
    [
      ['commands', null],
      ['only texts', 'Error: queryParams.custom_tenant must be a string, because forms and URLs can send only strings'],
      [
        'no OAuth',
        expect.stringContaining(
          'the host does not call getOAuthConfig in this solution, which has "authenticator": "AUTHENTICATOR"',
        ),
      ],
      // Tests included in the example.
      ['anna from acme is signed in with her tenant and its language', null],
      ['a wrong password, tenant or user is rejected with the same text', null],
      ['a remembered login is valid for seven days and only for the same user', null],
    ],
  ])
})

test('test: forms work as they do for a user, and each test starts with an empty database', async () => {
  const { code, out } = await testOfExample('orders', {
    'forms/orders.test.js': `
const boss = { username: 'mo', permissions: ['Orders', 'Edit', 'Approve'] }
test('searches, selects and opens', async () => {
  const client = await solution.open({ user: boss })
  const all = client.elements.list.rows.length
  await client.type('search', client.elements.list.rows[0].customer)
  assert(client.elements.list.rows.length < all)
  assert.equal(client.elements.open.enabled, false)
  const [{ id }] = client.elements.list.rows
  await client.select('list', id)
  assert.equal([client.elements.list.selected, client.elements.open.enabled], [[id], true])
  await client.click('open')
  assert.equal([client.form, client.unsaved], ['order', false])
  await assert.rejects(client.leave(), 'no page is asking "Leave without saving?"')
  await client.type('notes', 'changed')
  await client.click('back')
  assert.equal([client.form, client.unsaved], ['order', true])
  await client.leave()
  assert.equal([client.form, client.unsaved], ['orders', false])
})
test('what was changed in one test', async () => {
  const client = await solution.open({ user: boss })
  await client.call('query', 'DELETE FROM orders')
  assert.equal(await client.call('findOrders', '', null), [])
})
test('is not there in the next', async () => {
  const client = await solution.open({ user: boss })
  assert((await client.call('findOrders', '', null)).length > 0)
})
test('functions of scripts and forms can be called', async () => {
  const client = await solution.open({ user: boss, locale: 'nl' })
  assert.match(await client.call('money', 12.5), '12,50')
  await client.call('forms.orders.createOrder')
  assert.equal(client.form, 'order')
  await assert.rejects(client.call('forms.orders.nothing'), 'forms.orders has no nothing')
  await assert.rejects(client.call('COLUMNS'), 'COLUMNS is not a function of the scripts')
  await assert.rejects(client.call('alert(1)'), 'requires the name of a function')
})
test('without permissions the list is not shown', async () => {
  const client = await solution.open({ user: { username: 'nobody' } })
  assert.equal(client.elements, {})
})
`,
  })
  expect([code, resultsOf(out)]).toEqual([
    0,
    [
      ['searches, selects and opens', null],
      ['what was changed in one test', null],
      ['is not there in the next', null],
      ['functions of scripts and forms can be called', null],
      ['without permissions the list is not shown', null],
      ['orders are deleted once the user has confirmed; the next ones need no confirmation', null],
      ['an API token with the permission adds an order, which can then be read', null],
      ['signed-in users download the orders; the carrier reports shipped ones', null],
      ['if the user refuses the confirmation, nothing is deleted', null],
      ['a shipped order queues one run, which thanks the customer', null],
      ['orders are counted by status', null],
    ],
  ])
})

test('test: a user that the test added to the users table can sign in on a login form', async () => {
  const { code, out } = await testOfExample('orders-login-form', {
    'forms/sign_in.test.js': `
const enter = async (client, username, password) => {
  await client.type('username', username)
  await client.type('password', password)
  return client.click(Object.keys(client.elements).find((name) => client.elements[name].type === 'button'))
}
test('anna', async () => {
  await solution.addUser({ username: 'anna', password: 'seven green tractors', permissions: ['Orders'] })
  const client = await solution.open({ loginForm: true })
  assert.equal(client.form, 'sign_in')
  await enter(client, 'anna', 'wrong')
  assert(client.elements.password.error)
  assert.equal(client.login, null)
  await enter(client, 'anna', 'seven green tractors')
  assert.equal([client.login.username, client.login.permissions], ['anna', ['Orders']])
})
test('without a user nobody is granted the table', async () => {
  const client = await solution.open({ loginForm: true })
  await enter(client, 'anna', 'seven green tractors')
})
`,
  })
  expect([code, resultsOf(out)]).toEqual([
    3,
    [
      ['anna', null],
      [
        'without a user nobody is granted the table',
        expect.stringContaining('security.authenticate: the operator has not granted the users table'),
      ],
    ],
  ])
})

test('test: users that scripts create or delete do not affect other tests', async () => {
  const { code, out } = await testOf(
    {
      'solution.json': '{ "name": "crm", "version": "1.0.0", "permissions": ["Administrators"] }',
      'globals.js': `async function replace(uid) {
  await security.deleteUser(uid)
  await security.createUser('other', 'seven green tractors')
}
async function isKnown(name) { return (await security.getUser(name)) !== null }
`,
      'globals.test.js': `
async function open() {
  await solution.addUser({ username: 'anna', permissions: ['Administrators'] })
  return solution.open({ user: { username: 'anna' } })
}
test('replaces', async () => {
  const { uid } = await solution.addUser({ username: 'bert' })
  const client = await open()
  await client.call('replace', uid)
  assert.equal([await client.call('isKnown', 'bert'), await client.call('isKnown', 'other')], [false, true])
})
test('knows nobody', async () => {
  const client = await open()
  assert.equal([await client.call('isKnown', 'bert'), await client.call('isKnown', 'other')], [false, false])
})
`,
    },
    '--json',
  )
  expect([code, resultsOf(out)]).toEqual([
    0,
    [
      ['replaces', null],
      ['knows nobody', null],
    ],
  ])
})

test('test: Ctrl-C ends it with all its processes and databases, and leaves nothing behind', async () => {
  using folder = temporaryFolder({
    'solution.json':
      '{ "name": "crm", "version": "1.0.0", "authenticator": "NONE", "databases": { "own": { "server": "embedded" } } }',
    'globals.js': "function fill() { return plugins.database.query('own', 'CREATE TABLE t (id INTEGER)') }\n",
    'globals.test.js': "test('hangs', async () => {\n  await (await solution.open()).call('fill')\n  for (;;);\n})\n",
  })
  using temporary = temporaryFolder()
  const started = startCli(['test', '--timeout', '300'], { cwd: folder.path, env: { TMPDIR: temporary.path } })
  const launcher = started.child.pid as number
  try {
    await waitUntil(
      () =>
        expect(readdirSync(temporary.path, { recursive: true })).toContainEqual(expect.stringMatching(/crm\.sqlite$/)),
      { interval: 100 },
    )
    const [pid = 0] = childrenOf(launcher)
    const processes = [pid, ...childrenOf(pid)]
    expect(processes.length).toBeGreaterThan(2)
    process.kill(-launcher, 'SIGINT')
    expect([await started.ended, readdirSync(temporary.path)]).toEqual([130, []])
    await waitUntil(() => expect(processes.filter((one) => existsSync(`/proc/${one}/exe`))).toEqual([]))
  } finally {
    if (started.child.exitCode === null && started.child.signalCode === null) process.kill(-launcher, 'SIGKILL')
  }
})

/** The files of a solution with these tests. Its authenticator returns its input. */
const echoing = (authenticator: string, script: string, tests: string) => ({
  'solution.json': JSON.stringify({
    name: 'crm',
    version: '1.0.0',
    authenticator,
    modules: ['auth'],
    permissions: ['Users'],
  }),
  'modules/auth/solution.json': '{ "name": "auth", "version": "1.0.0", "type": "authenticator" }\n',
  'modules/auth/globals.js': `${script}
async function onSolutionOpen(arg, q) {
  if (q.custom_hash) return signInByHash(q)
  security.login('anna', 'a-1', ['Users'])
  return JSON.stringify({ q })
}
`,
  'modules/auth/globals.test.js': tests,
})

test('test: scripts can check password hashes and require a second factor; for a remembered login the authenticator gets the same data as on a host', async () => {
  const { code, out } = await testOf(
    echoing(
      'AUTHENTICATOR',
      `const HASH = 'pbkdf2_sha256$1000$seasalt$N8Kb7U1vbYSRuCHg1pngtjswnNK9K1+IDAsQ4NEmMNE='
async function signInByHash({ username, password }) {
  const hashes = { anna: HASH, bert: await security.hashPassword('seven geese') }
  if (await security.checkPasswordHash(password, hashes[username] ?? null)) security.login(username, 'u', ['Users'])
  if (username === 'bert') security.requireSecondFactor()
}`,
      `test('checks stored hashes and makes its own', async () => {
  const signedIn = []
  const raised = []
  for (const [username, password] of [['anna', 'Grüße, horse'], ['anna', 'x'], ['bert', 'seven geese'], ['cleo', 'x']]) {
    const { login, commands } = await solution.signIn({ username, password, custom_hash: 'yes' })
    signedIn.push(login?.username ?? null)
    if (commands.some(({ name }) => name === 'security.requireSecondFactor')) raised.push(username)
  }
  assert.equal(raised, ['bert'])
  assert.equal(signedIn, ['anna', null, 'bert', null])
})
test('returns', async () => {
  const last_login = { last_login: 7, uid: 'a-1', tenant: ['acme', -1], locale: 'nl-BE', email: 'a@b' }
  const given = { username: 'anna', password: 'x', custom_tenant: 'acme', page: '2', remember: 'on' }
  const { result, tenant, locale } = await solution.signIn({ ...given, last_login })
  const { email, ...known } = last_login
  const all = { ...known, username: 'anna', permissions: [] }
  assert.equal(result.q, { page: '2', custom_tenant: 'acme', username: 'anna', last_login: all })
  assert.equal([tenant, locale], [['acme', -1], 'nl-BE'])
})
test('needs a uid', async () => {
  await assert.rejects(solution.signIn({ last_login: { last_login: 7 } }), 'last_login.uid is missing')
  await assert.rejects(solution.signIn({ last_login: { last_login: 'x', uid: 'a-1' } }), 'last_login.last_login')
})
`,
    ),
    '--json',
  )
  expect([code, resultsOf(out)]).toEqual([
    0,
    [
      ['checks stored hashes and makes its own', null],
      ['returns', null],
      ['needs a uid', null],
    ],
  ])
})

test('test: an OAuth authenticator gets the same claims as on a host; getOAuthConfig is called, and its errors are reported', async () => {
  const { code, out } = await testOf(
    echoing(
      'OAUTH_AUTHENTICATOR',
      `function getOAuthConfig(queryParams) {
  if (!queryParams.tenant) throw new Error('no tenant')
  return queryParams.tenant === 'acme' ? { api: 'Google', clientId: 'acme-client' } : null
}`,
      `const CLAIMS = { iss: 'https://id.example', sub: 's', email: 'a@b' }
test('first', async () => {
  const { result } = await solution.signIn({ tenant: 'acme', custom_a: '1', password: 'x', last_login: CLAIMS })
  const { last_login, ...others } = result.q.last_login
  assert.equal(typeof last_login, 'number')
  assert.equal(others, { ...CLAIMS, claims: CLAIMS })
  assert.equal([result.q.tenant, result.q.custom_a, result.q.password], ['acme', '1', undefined])
})
test('returns', async () => {
  const earlier = { uid: 'a-1', username: 'anna', permissions: ['Users'], tenant: null, locale: 'nl' }
  const { result, locale } = await solution.signIn({ last_login: { ...CLAIMS, ...earlier, last_login: 7 } })
  assert.equal(result.q, { username: 'anna', last_login: { ...CLAIMS, ...earlier, last_login: 7, claims: CLAIMS } })
  assert.equal(locale, 'nl')
})
test('needs claims', async () => {
  await assert.rejects(solution.signIn({ tenant: 'acme' }), 'pass the provider’s claims')
})
test('acme', async () => {
  assert.equal((await solution.getOAuthConfig({ tenant: 'acme' })).result, { api: 'Google', clientId: 'acme-client' })
})
test('nobody', async () => { assert.equal((await solution.getOAuthConfig({ tenant: 'x' })).result, null) })
test('none', async () => { await solution.getOAuthConfig({}) })
`,
    ),
    '--json',
  )
  expect([code, resultsOf(out)]).toEqual([
    3,
    [
      ['first', null],
      ['returns', null],
      ['needs claims', null],
      ['acme', null],
      ['nobody', null],
      ['none', 'Error: script_error at modules/auth/globals.js:2:34: Error: no tenant'],
    ],
  ])
})
