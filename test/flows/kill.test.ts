import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSupervisor } from '../../runtime/supervisor.ts'
import { childrenOf, isSandboxProcess } from '../long/processes.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ADMIN_PASSWORD } from '../support/host-group.ts'
import { startHostProcess } from '../support/host-process.ts'
import { ask, createVisitor } from '../support/http.ts'
import { killProcess } from '../support/kill-process.ts'
import { killSignIns } from '../support/killed-sign-ins.ts'
import { killUploads } from '../support/killed-uploads.ts'
import { slowSolution, untilSlowLogin } from '../support/slow-solution.ts'
import { waitUntil } from '../support/wait-until.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({}, { createSupervisor })
})
afterAll(() => host.stop())

const pageOf = (name: string) => `/solution/${name}/index.html`

async function addSlow(name: string) {
  await host.upload(name, await slowSolution(name))
  const visitor = createVisitor(host.url)
  await visitor.get(pageOf(name))
  return visitor
}

/** Starts a sign-in that takes about 1 s. */
async function startSlowLogin(name: string) {
  const visitor = await addSlow(name)
  const login = visitor.post(pageOf(name), { username: 'anna', password: 'p', custom_wait: 'yes' })
  return { visitor, login }
}

function killRunning(): void {
  killProcess(host.processes().find(({ calls }) => calls > 0)?.pid)
}

test('kill -9 of the sandbox process during a sign-in: the call is retried once; if it is killed again, it fails, and the next sign-in works', async () => {
  const { login, visitor } = await startSlowLogin('twice')
  const log = `${host.url}/admin/api/solutions/twice/log`
  const headers = { authorization: host.admin }
  for (const times of [1, 2]) {
    await untilSlowLogin(host.url, host.admin, times, 'twice')
    killRunning()
  }
  const health: number[] = []
  let answered = false
  const probing = (async () => {
    while (!answered) {
      health.push((await ask(`${host.url}/health/live`)).status)
      await wait(10)
    }
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
  expect((await visitor.post(pageOf('twice'), { username: 'anna', password: 'p' })).status).toBe(303)
})

test('kill -9 of the sandbox process during a sign-in: the call is retried, and the user signs in', async () => {
  const { login } = await startSlowLogin('once')
  await untilSlowLogin(host.url, host.admin, 1, 'once')
  killRunning()
  expect((await login).status).toBe(303)
})

test('a killed spare process is replaced, and the next solution can use the new one', async () => {
  await host.upload('spare', await slowSolution('spare'))
  const spare = host.processes().find(({ key, calls }) => key === null && calls === 0)
  killProcess(spare?.pid)
  const visitor = createVisitor(host.url)
  await visitor.get(pageOf('spare'))
  expect((await visitor.post(pageOf('spare'), { username: 'a', password: 'b' })).status).toBe(303)
})

// `npm run long -- kill-uploads` repeats this 50 times.
test('kill -9 of the host during an upload, 5 times: the database is not damaged, and the old or the new version is active', async () => {
  expect(await killUploads(5)).toBeGreaterThan(1)
})

// `npm run long -- kill-sign-ins` repeats this 50 times.
test('kill -9 of the host while users sign in, twice: no acknowledged session is lost', async () => {
  expect(await killSignIns(2)).toBeGreaterThan(4)
})

test('kill -9 of the host: its sandbox processes end', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-killed-'))
  const killed = await startHostProcess(home, { SERVLET_PASSWORD: ADMIN_PASSWORD })
  const sandboxes = () => childrenOf(killed.child.pid ?? 0).filter(isSandboxProcess)
  await waitUntil(() => expect(sandboxes()).not.toEqual([]))
  const left = sandboxes()
  killed.child.kill('SIGKILL')
  await killed.gone
  await waitUntil(() => expect(left.filter(isSandboxProcess)).toEqual([]))
  rmSync(home, { recursive: true, force: true })
})
