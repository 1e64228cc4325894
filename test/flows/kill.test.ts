import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { startTestHost, type TestHost } from '../support/host.ts'
import { startHostProcess } from '../support/host-process.ts'
import { ask, createVisitor } from '../support/http.ts'
import { slowSolution, untilSlowLogin } from '../support/slow-solution.ts'
import { bundleOf } from '../support/zip.ts'

const PAGE = '/solution/slow/index.html'

/** A host with a login of a second under way. */
async function startSlowLogin() {
  const host = await startTestHost()
  await host.upload('slow', await slowSolution())
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  const login = visitor.post(PAGE, { username: 'anna', password: 'p', custom_wait: 'yes' })
  return { host, visitor, login }
}

function killRunning(host: TestHost): void {
  process.kill(host.processes().find(({ calls }) => calls > 0)?.pid ?? 0, 'SIGKILL')
}

test('kill -9 of the sandbox process during a login: it runs again once; killed again it fails with the error label, and the next one works', async () => {
  const { host, login, visitor } = await startSlowLogin()
  const log = `${host.url}/admin/api/solutions/slow/log`
  const headers = { authorization: host.admin }
  for (const times of [1, 2]) {
    await untilSlowLogin(host.url, host.admin, times)
    killRunning(host)
  }
  const health: number[] = []
  let answered = false
  const probing = (async () => {
    while (!answered) health.push((await ask(`${host.url}/health/live`)).status)
  })()
  const answer = await login
  answered = true
  await probing
  expect(answer.status).toBe(401)
  expect(answer.text).toContain('#errorlabel{display:block!important}')
  expect(answer.text).toContain(answer.headers['x-correlation-id'])
  expect(health.every((status) => status === 200)).toBe(true)
  const { items } = (await ask(log, { headers })).json() as { items: { code?: string; correlationId?: string }[] }
  expect(items.at(-1)).toMatchObject({ code: 'script_crashed', correlationId: answer.headers['x-correlation-id'] })
  expect((await visitor.post(PAGE, { username: 'anna', password: 'p' })).status).toBe(303)
  await host.stop()
})

test('kill -9 of the sandbox process during a login: it is run again, and the user signs in', async () => {
  const { host, login } = await startSlowLogin()
  await untilSlowLogin(host.url, host.admin)
  killRunning(host)
  expect((await login).status).toBe(303)
  await host.stop()
})

test('a killed spare process is replaced, and the next solution gets a process', async () => {
  const host = await startTestHost()
  await host.upload('slow', await slowSolution())
  const spare = host.processes().find(({ key }) => key === null)
  process.kill(spare?.pid ?? 0, 'SIGKILL')
  const visitor = createVisitor(host.url)
  await visitor.get('/solution/slow/index.html')
  expect((await visitor.post('/solution/slow/index.html', { username: 'a', password: 'b' })).status).toBe(303)
  await host.stop()
})

const ROUNDS = 50

test('kill -9 of the host during an upload, 50 times: the database opens, the old or the new version is active', {
  timeout: 240_000,
}, async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-kill-'))
  const headers = { authorization: `Basic ${Buffer.from('admin:secret-of-admin').toString('base64')}` }
  let active = ''
  let sent = ''
  let interrupted = 0
  for (let round = 0; round < ROUNDS; round++) {
    const { child, url, gone } = await startHostProcess(home, { SERVLET_PASSWORD: 'secret-of-admin' })
    const api = `${url}/admin/api/solutions/crm`
    const before = await ask(api, { headers })
    // What the round before sent is either active or not there at all, and then the version before it still is.
    if (round > 0) {
      const one = before.json() as { active: string; state: string; versions: { sha256: string; version: string }[] }
      const now = one.versions.find(({ sha256 }) => sha256 === one.active)?.version ?? 'none'
      expect([active, sent]).toContain(now)
      expect(one.versions.some(({ version }) => version === sent)).toBe(now === sent)
      active = now
      expect((await ask(`${url}/solution/crm/index.html`)).status).toBe(200)
      expect((await ask(`${url}/solution/crm/media/which.txt`)).text).toBe(now)
    }
    const version = `1.0.${round}`
    const bundle = await bundleOf(
      { name: 'crm', authenticator: 'NONE', version },
      { 'media/which.txt': version, 'media/big.bin': randomBytes(200_000) },
    )
    sent = version
    const upload = ask(api, {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/zip' },
      body: bundle,
    }).then(
      () => 'answered',
      () => 'interrupted',
    )
    // The first one is let through, so that there is an old version; the others are killed somewhere on their way.
    if (round === 0) await upload
    else await new Promise((resolve) => setTimeout(resolve, (round * 7) % 260))
    child.kill('SIGKILL')
    await gone
    if ((await upload) === 'interrupted') interrupted++
    const database = new DatabaseSync(join(home, 'platform.sqlite'))
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    database.close()
  }
  expect(interrupted).toBeGreaterThan(ROUNDS / 4)
  rmSync(home, { recursive: true, force: true })
})
