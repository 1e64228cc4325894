import type { Socket } from 'node:net'
import { addUsers, nameOf, PASSWORD } from './default-users.ts'
import { exchange, type FormTarget, formRequest, open } from './form-load.ts'
import { openLoginPage, type RealHost, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { each, figure, median, ROUNDS } from './rounds.ts'

const FEW = 100
const MANY = 100_000
const COUNT = 20

type Contestant = {
  readonly users: number
  readonly target: FormTarget
  readonly socket: Socket
  readonly times: number[]
}

/**
 * Compares form logins on two hosts, one with many users in its users table, and one with few. Each login is for a
 * different user, in random order.
 */
export async function measureManyUsers(): Promise<Row[]> {
  const hosts: RealHost[] = []
  try {
    const contestants: Contestant[] = []
    for (const users of [FEW, MANY]) {
      const host = await startRealHost({}, (home) => addUsers(home, users))
      hosts.push(host)
      await host.uploadPlain({ name: 'users', authenticator: 'DEFAULT' })
      const target = await openLoginPage(host.url, 'users')
      contestants.push({ users, target, socket: await open(target.port), times: [] })
    }
    for (let round = -1; round < ROUNDS; round++) {
      for (const one of contestants) {
        const time = await each(COUNT, () => login(one))
        if (round >= 0) one.times.push(time)
      }
    }
    for (const { socket } of contestants) socket.destroy()
    const search = median(await searchTimes(hosts.at(-1) as RealHost))
    const [few, many] = contestants.map(({ times }) => median(times)) as [number, number]
    return [
      {
        work: `sign-in with ${figure(MANY)} users`,
        against: `sign-in with ${figure(FEW)} users`,
        reach: { atMost: 1.2 },
        unit: 'ratio',
        measured: many / few,
        details: `${figure(many)} ms : ${figure(few)} ms`,
      },
      {
        work: `search for text that matches none of ${figure(MANY)} users`,
        against: '-',
        reach: { atMost: 1000 },
        unit: 'ms',
        measured: search,
        details: 'the search reads all users',
      },
    ]
  } finally {
    for (const host of hosts) await host.stop()
  }
}

async function searchTimes(host: RealHost): Promise<number[]> {
  const times: number[] = []
  for (let round = -1; round < ROUNDS; round++) {
    const time = await each(1, async () => {
      const { items } = (await host.askAdmin('users?search=nobody@example')) as { items: readonly unknown[] }
      if (items.length > 0) throw new Error('the search found users that do not match')
    })
    if (round >= 0) times.push(time)
  }
  return times
}

async function login({ users, target, socket }: Contestant): Promise<void> {
  const username = nameOf('member', Math.floor(Math.random() * users))
  const answer = await exchange(socket, formRequest(target, { username, password: PASSWORD }))
  if (!answer.startsWith('HTTP/1.1 303 ')) throw new Error(`a login failed: ${answer.slice(0, 300)}`)
}
