import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startHostProcess } from '../support/host-process.ts'
import { ask, createVisitor } from '../support/http.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

const PASSWORD = 'p4ss"w\\ord <é> %26'
const CUSTOM = 'branch-4711-secret'
const ADMIN = 'admin-secret-0815'

/** An authenticator that leaks its input in every way in which a careless author might leak it. */
const CARELESS = `function onSolutionOpen(arg, q) {
  console.log('login', q)
  application.output(q.password)
  console.warn(encodeURIComponent(q.password), q.custom_branch, JSON.stringify({ p: q.password }))
  if (q.username === 'throws') throw new Error('wrong password ' + q.password + ' at ' + q.custom_branch)
  if (q.username === 'rejects') return Promise.reject({ message: q.password })
  if (q.username === 'long') security.login(q.password.repeat(2000), 'u', ['x'])
  if (q.username === 'permission') security.login('a', 'b', [q.password])
  if (q.username === 'odd') return q.password
  if (q.username === 'in') security.login('in', 'u', ['Users'])
}`

test('no log, error or process output contains a password, token or custom value', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-secrets-'))
  const { child, url, output, gone } = await startHostProcess(home, { SERVLET_PASSWORD: ADMIN, LOG_LEVEL: 'debug' })
  const authorization = `Basic ${Buffer.from(`admin:${ADMIN}`).toString('base64')}`
  const bundle = await bundleOf(
    { name: 'careless', authenticator: 'AUTHENTICATOR', modules: ['auth'], permissions: ['Users', 'x'] },
    { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': CARELESS },
  )
  const put = { method: 'PUT', headers: { authorization, 'content-type': 'application/zip' }, body: bundle }
  expect((await ask(`${url}/admin/api/solutions/careless`, put)).status).toBe(201)

  const page = `/solution/careless/index.html?custom_branch=${CUSTOM}&password=${encodeURIComponent(PASSWORD)}`
  const answers: string[] = []
  const secrets = [PASSWORD, CUSTOM, ADMIN, authorization.slice(6)]
  for (const username of ['nobody', 'throws', 'rejects', 'long', 'permission', 'odd', 'in']) {
    const visitor = createVisitor(url)
    await visitor.get(page)
    const answer = await visitor.post(page, { username, password: PASSWORD, custom_branch: CUSTOM })
    // The page may contain the custom values that the user typed, and its own token, but never the password.
    answers.push(answer.text.replaceAll(CUSTOM, ''))
    for (const { value } of visitor.cookies.values()) secrets.push(value)
    secrets.push(visitor.token() ?? '')
    answers.push(
      (await visitor.post(page, { username, password: PASSWORD }, { token: 'x' })).text.replaceAll(CUSTOM, ''),
    )
  }
  const wrong = { headers: { authorization: `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}` } }
  answers.push((await ask(`${url}/admin/api/solutions`, wrong)).text)
  const log = (await ask(`${url}/admin/api/solutions/careless/log?limit=1000`, { headers: { authorization } })).text
  child.kill('SIGTERM')
  await gone

  const spellings = (secret: string) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]
  const found = (text: string) =>
    secrets.filter((secret) => spellings(secret).some((spelling) => text.includes(spelling)))
  expect(log).toContain('[password]')
  expect(found(log)).toEqual([])
  expect(found(output())).toEqual([])
  expect(
    answers.flatMap((text) =>
      [PASSWORD, ADMIN].filter((secret) => spellings(secret).some((one) => text.includes(one))),
    ),
  ).toEqual([])
  // No file on disk contains a browser's secrets: session cookies are stored as hashes.
  for (const file of readdirSync(home))
    expect([file, found(readFileSync(join(home, file), 'latin1'))]).toEqual([file, []])
  rmSync(home, { recursive: true, force: true })
})
