import type { Socket } from 'node:net'
import { addUsers, nameOf, PASSWORD } from './default-users.ts'
import { exchange, type FormTarget, formRequest, open } from './form-load.ts'
import { openLoginPage, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { each, figure, median } from './rounds.ts'

const COUNT = Number(process.env.BENCH_REFUSALS ?? 200)
const WARM_UP = 20

/**
 * Measures refused logins of known and unknown users, which must take the same time. A pair is one login of each kind,
 * in random order. In a fixed order, the host's deferred work, such as counting failures in batches, could slow down
 * only one kind.
 */
export async function measureRefusals(): Promise<Row[]> {
  const host = await startRealHost({}, (home) => addUsers(home, COUNT + WARM_UP))
  try {
    await host.uploadPlain({ name: 'refused', authenticator: 'DEFAULT' })
    const target = await openLoginPage(host.url, 'refused')
    const socket = await open(target.port)
    const times = { member: [] as number[], strange: [] as number[] }
    for (let pair = 0; pair < COUNT + WARM_UP; pair++) {
      const kinds = Math.random() < 0.5 ? (['member', 'strange'] as const) : (['strange', 'member'] as const)
      for (const kind of kinds) {
        const time = await each(1, () => refusal(socket, target, nameOf(kind, pair)))
        if (pair >= WARM_UP) times[kind].push(time)
      }
    }
    socket.destroy()
    return [
      {
        work: `${COUNT} failed sign-ins with known usernames`,
        against: 'the same number of failed sign-ins with unknown usernames',
        reach: { atLeast: 0.95, atMost: 1.05 },
        unit: 'ratio',
        measured: median(times.member) / median(times.strange),
        details: `${figure(median(times.member))} ms : ${figure(median(times.strange))} ms`,
      },
    ]
  } finally {
    await host.stop()
  }
}

async function refusal(socket: Socket, target: FormTarget, username: string): Promise<void> {
  const answer = await exchange(socket, formRequest(target, { username, password: `not ${PASSWORD}` }))
  if (!answer.startsWith('HTTP/1.1 401 '))
    throw new Error(`a rejected login did not return 401: ${answer.slice(0, 300)}`)
}
