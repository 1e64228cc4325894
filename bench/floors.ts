import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuTimeOfTree } from './cpu-time.ts'
import { addUsers, nameOf, PASSWORD } from './default-users.ts'
import { exchange, formRequest, open, pageRequest } from './form-load.ts'
import { openLoginPage, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure, median, ROUNDS } from './rounds.ts'
import { startProgram } from './start-program.ts'

/**
 * Number of requests per measurement. Linux counts CPU time in ticks of 10 ms, which is precise enough for this many.
 */
const COUNT = 1500
const USER = nameOf('member', 0)

type Contestant = { readonly pid: number; readonly port: number; readonly bytes: Buffer; readonly times: number[] }

/**
 * Measures the CPU time of two requests that run no script: the login page and `GET session`. Each is compared with a
 * bare Koa app. The app renders the same page with Eta, or looks up a session in a Map. The host also reads and checks
 * the request, looks up the solution and the session, and sets its security headers.
 */
export async function measureFloors(): Promise<Row[]> {
  const host = await startRealHost({}, (home) => addUsers(home, 1))
  const port = Number(new URL(host.url).port)
  const folder = mkdtempSync(join(tmpdir(), 'solhost-floors-'))
  try {
    await host.uploadPlain({ name: 'floor', authenticator: 'DEFAULT' })
    const target = await openLoginPage(host.url, 'floor')
    const socket = await open(port)
    const signedIn = await exchange(socket, formRequest(target, { username: USER, password: PASSWORD }))
    const cookies = [...signedIn.matchAll(/^set-cookie: ([^;]+)/gim)].map(([, cookie]) => cookie).join('; ')
    const requests = {
      page: pageRequest(port, target.path, target.cookie),
      session: pageRequest(port, '/solution/floor/session', cookies),
    }
    writeFileSync(join(folder, 'page.html'), bodyOf(await exchange(socket, requests.page)))
    writeFileSync(join(folder, 'session.json'), bodyOf(await exchange(socket, requests.session)))
    socket.destroy()
    const floor = await startProgram('floor-app.ts', [join(folder, 'page.html'), join(folder, 'session.json')])
    const bare = (path: string, cookie: string) => ({
      pid: floor.pid,
      port: floor.port,
      bytes: pageRequest(floor.port, path, cookie),
      times: [],
    })
    const of = (bytes: Buffer) => ({ pid: host.pid, port, bytes, times: [] })
    const contestants = {
      page: of(requests.page),
      barePage: bare('/', target.cookie),
      session: of(requests.session),
      bareSession: bare('/session', `session=${'x'.repeat(43)}`),
    }
    for (let round = -1; round < ROUNDS; round++) {
      for (const one of Object.values(contestants)) await turn(one, round >= 0)
    }
    await floor.stop()
    const { page, barePage, session, bareSession } = contestants
    return [
      rowOf(page, barePage, 'GET login page, with a cookie', 'bare Koa and Eta with the same page'),
      rowOf(session, bareSession, 'GET session', 'bare Koa with sessions in a Map'),
    ]
  } finally {
    await host.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Sends the request `COUNT` times over one connection. If `counts` is true, records the mean CPU time per request. */
async function turn({ pid, port, bytes, times }: Contestant, counts: boolean): Promise<void> {
  const socket = await open(port)
  const before = cpuTimeOfTree(pid)
  for (let n = 0; n < COUNT; n++) {
    const answer = await exchange(socket, bytes)
    if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`a request failed: ${answer.slice(0, 300)}`)
  }
  if (counts) times.push((cpuTimeOfTree(pid) - before) / COUNT)
  socket.destroy()
}

function bodyOf(answer: string): Buffer {
  if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`a request failed: ${answer.slice(0, 300)}`)
  return Buffer.from(answer.slice(answer.indexOf('\r\n\r\n') + 4), 'latin1')
}

function rowOf(one: Contestant, floor: Contestant, work: string, against: string): Row {
  const [measured, least] = [median(one.times), median(floor.times)]
  return {
    work: `requests per CPU time: ${work}`,
    against,
    reach: { atLeast: 0.7 },
    unit: 'ratio',
    measured: least / measured,
    details: `${figure(measured)} ms : ${figure(least)} ms of CPU time per request`,
  }
}
