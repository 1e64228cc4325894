import { expect, test } from 'vitest'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { killUploads } from '../support/killed-uploads.ts'
import { slowSolution, untilSlowLogin } from '../support/slow-solution.ts'

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

// `npm run long -- kill-uploads` does it 50 times.
test('kill -9 of the host during an upload, 12 times: the database opens, the old or the new version is active', async () => {
  expect(await killUploads(12)).toBeGreaterThan(3)
})
