import { addUsers, nameOf, PASSWORD } from './default-users.ts'
import { exchange, formRequest, open, pageRequest } from './form-load.ts'
import { openLoginPage, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { each, figure, median, ROUNDS } from './rounds.ts'

const COUNT = 400
const USER = nameOf('member', 0)

/** A request, and the text that its response must contain. */
type Contestant = { readonly bytes: Buffer; readonly holds: string; readonly times: number[] }

/**
 * Measures how much time a session adds to a request. Compares two pairs of requests, sent over one connection:
 *
 * - `GET session`, and a media file of the same size. The first request looks up a session and returns its data. The
 *   second returns a file from memory. Neither renders a template, so the difference is the session's cost.
 * - The page of a solution that requires sign-in, for a signed-in user, and the page of one that doesn't. Both requests
 *   use the same middleware and template, run no script, and send the form's cookie. The first page also contains the
 *   user's data.
 */
export async function measureSessions(): Promise<Row[]> {
  const host = await startRealHost({}, (home) => addUsers(home, 1))
  const port = Number(new URL(host.url).port)
  const media = JSON.stringify({ username: USER, padding: 'x'.repeat(110) })
  try {
    await host.uploadPlain({ name: 'signed', authenticator: 'DEFAULT' }, { 'media/plain.json': media })
    await host.uploadPlain({ name: 'openly', authenticator: 'NONE' })
    const socket = await open(port)
    const target = await openLoginPage(host.url, 'signed')
    const signedIn = await exchange(socket, formRequest(target, { username: USER, password: PASSWORD }))
    const cookies = [...signedIn.matchAll(/^set-cookie: ([^;]+)/gim)].map(([, cookie]) => cookie).join('; ')
    const of = (path: string, cookie: string, holds: string): Contestant => ({
      bytes: pageRequest(port, `/solution/${path}`, cookie),
      holds,
      times: [],
    })
    const contestants = {
      session: of('signed/session', cookies, `"username":"${USER}"`),
      file: of('signed/media/plain.json', cookies, media),
      page: of('signed/index.html', cookies, USER),
      plainPage: of('openly/index.html', `login-openly=${'x'.repeat(32)}`, 'openly'),
    }
    // Use several turns per round, so that short disturbances affect all contestants.
    for (let round = -2; round < ROUNDS * 4; round++) {
      for (const { bytes, holds, times } of Object.values(contestants)) {
        const time = await each(COUNT, async () => {
          const answer = await exchange(socket, bytes)
          if (answer.startsWith('HTTP/1.1 200 ') && answer.includes(holds)) return
          throw new Error(`a request failed: ${answer.slice(0, 300)}`)
        })
        if (round >= 0) times.push(time)
      }
    }
    socket.destroy()
    const { session, file, page, plainPage } = contestants
    return [
      rowOf(session, file, 'GET session', 'a media file of the same size in the same solution'),
      rowOf(page, plainPage, 'page of a solution that requires sign-in', 'page of a solution that requires no sign-in'),
    ]
  } finally {
    await host.stop()
  }
}

function rowOf(one: Contestant, other: Contestant, work: string, against: string): Row {
  const [measured, plain] = [median(one.times), median(other.times)]
  return {
    work: `request with a session: ${work}`,
    against,
    reach: { atMost: 1.3 },
    unit: 'ratio',
    measured: measured / plain,
    details: `${figure(measured)} ms : ${figure(plain)} ms`,
  }
}
