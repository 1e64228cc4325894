import type { Logger } from 'pino'
import { createRequestQueue, type RequestQueue } from '../../base/work/request-queue.ts'
import type { Organisations } from '../organisations/organisations.ts'
import type { SendLinks } from './send-links.ts'
import type { SolutionUsers } from './solution-users.ts'

export type PasswordRequest = {
  readonly organisation: string
  readonly solution: string
  /** The username or email address that the user typed. */
  readonly asked: string
  readonly origin: string
}

export type PasswordRequests = RequestQueue<PasswordRequest>

export function createPasswordRequests(
  organisations: Pick<Organisations, 'find'>,
  users: Pick<SolutionUsers, 'findByNameOrMail'>,
  sendLinks: Pick<SendLinks, 'fromUser'>,
  log: Pick<Logger, 'warn'>,
): PasswordRequests {
  return createRequestQueue(async ({ organisation: name, solution, asked, origin }) => {
    const organisation = await organisations.find(name)
    if (organisation === null || asked === '') return
    const place = { organisation: organisation.id, solution }
    for (const user of await users.findByNameOrMail(place, asked)) {
      await sendLinks.fromUser('reset', { organisation, solution, user, origin })
    }
  }, log)
}
