import type { Logger } from 'pino'
import type { Organisations } from '../organisations/organisations.ts'
import type { SendLinks } from './send-links.ts'
import type { SolutionUsers } from './solution-users.ts'

export type PasswordRequest = {
  readonly organisation: string
  readonly solution: string
  /** A user name or an e-mail address. */
  readonly asked: string
  readonly origin: string
}

/** Requests for a new password. They are answered before they are looked at, so that no time tells who exists. */
export interface PasswordRequests {
  /** Beyond what waits already it is dropped: whoever asks can ask again. */
  take(request: PasswordRequest): void
  /** Resolves when all that were taken are done. */
  settle(): Promise<void>
}

const MOST_WAITING = 200

export function createPasswordRequests(
  organisations: Pick<Organisations, 'find'>,
  users: Pick<SolutionUsers, 'findByNameOrMail'>,
  sendLinks: Pick<SendLinks, 'fromUser'>,
  log: Pick<Logger, 'warn'>,
): PasswordRequests {
  let waiting = 0
  let running: Promise<void> = Promise.resolve()

  async function answer({ organisation: name, solution, asked, origin }: PasswordRequest): Promise<void> {
    const organisation = await organisations.find(name)
    if (organisation === null || asked === '') return
    const place = { organisation: organisation.id, solution }
    for (const user of await users.findByNameOrMail(place, asked)) {
      await sendLinks.fromUser('reset', { organisation, solution, user, origin })
    }
  }

  return {
    take(request) {
      if (waiting >= MOST_WAITING) {
        log.warn({ waiting }, 'a request for a new password was dropped: too many wait')
        return
      }
      waiting++
      running = running
        .then(() => answer(request))
        .catch((error: Error) => log.warn({ stack: error.stack }, 'a request for a new password failed'))
        .finally(() => waiting--)
    },
    settle: () => running,
  }
}
