import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { addUsers, nameOf, PASSWORD } from './default-users.ts'
import { exchange, type FormTarget, formRequest, open } from './form-load.ts'
import { openLoginPage, type RealHost, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure, median, ROUNDS } from './rounds.ts'

const AT_ONCE = 50
/**
 * Interval between forms in ms. It is so short that all forms are queued for hashing together, although they don't all
 * arrive at the same moment.
 */
const APART = 3

/**
 * Measures the host's longest event loop delay while it hashes 50 concurrent sign-ins, compared with the same host when
 * idle. The delay is measured inside the host (`loop-delay.ts`) at a resolution of 1 ms. The forms are sent 3 ms apart.
 * If 50 arrived at the same moment, they would block the loop for about 25 ms, even without hashing.
 */
export async function measureHashing(): Promise<Row[]> {
  const monitor = new URL('loop-delay.ts', import.meta.url).href
  const host = await startRealHost({ NODE_OPTIONS: `--import=${monitor}` }, (home) => addUsers(home, AT_ONCE))
  try {
    await host.uploadPlain({ name: 'hashing', authenticator: 'DEFAULT' })
    const target = await openLoginPage(host.url, 'hashing')
    const sockets = await Promise.all(Array.from({ length: AT_ONCE }, () => open(target.port)))
    const longest = { idle: [] as number[], hashing: [] as number[] }
    const took: number[] = []
    for (let round = -1; round < ROUNDS; round++) {
      await longestDelay(host)
      const start = performance.now()
      await Promise.all(
        sockets.map((socket, number) => pause(number * APART).then(() => login(socket, target, number))),
      )
      const time = performance.now() - start
      const hashing = await longestDelay(host)
      await pause(time)
      const idle = await longestDelay(host)
      if (round < 0) continue
      took.push(time)
      longest.hashing.push(hashing)
      longest.idle.push(idle)
    }
    for (const socket of sockets) socket.destroy()
    const { idle, hashing } = longest
    return [
      {
        work: `longest event loop delay while ${AT_ONCE} sign-ins are hashed`,
        against: 'longest delay on the same host when idle, measured for the same length of time',
        reach: { atMost: 10 },
        unit: 'ms',
        measured: median(hashing) - median(idle),
        details: `${figure(median(hashing))} ms : ${figure(median(idle))} ms (worst ${figure(Math.max(...hashing))} ms); all sign-ins completed after ${figure(median(took))} ms`,
      },
    ]
  } finally {
    await host.stop()
  }
}

async function login(socket: Socket, target: FormTarget, number: number): Promise<void> {
  const answer = await exchange(socket, formRequest(target, { username: nameOf('member', number), password: PASSWORD }))
  if (!answer.startsWith('HTTP/1.1 303 ')) throw new Error(`a login failed: ${answer.slice(0, 300)}`)
}

/** Returns the longest event loop delay since the previous call, in ms. */
async function longestDelay(host: RealHost): Promise<number> {
  const before = host.output().length
  host.signal('SIGUSR2')
  for (;;) {
    const delay = /longest delay ([\d.]+) ms\n/.exec(host.output().slice(before))?.[1]
    if (delay !== undefined) return Number(delay)
    await pause(5)
  }
}
