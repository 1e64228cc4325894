import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import { pageOf } from '../../base/api/open-api.ts'
import { DONE } from '../../base/api/route.ts'
import { userTarget } from '../../base/api/targets.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'

export type SessionApiParts = { readonly sessions: Sessions; readonly remembered: Remembered }

const Text = z.string().max(200).optional()

const SessionQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  after: Text.describe('the value of `next` in the previous response'),
  solution: Text,
  uid: Text,
  username: Text.describe('exact'),
})

const EpochMs = z.int().min(0)

const Session = z
  .object({
    id: z.string(),
    solution: z.string(),
    uid: z.string(),
    username: z.string(),
    createdAt: EpochMs,
    lastSeenAt: EpochMs,
    address: z.string(),
    agent: z.string().nullable().describe('the browser’s User-Agent header; null if unknown'),
  })
  .meta({ id: 'Session' })

/** Routes that list sessions and sign users out. */
export function sessionRoutes({ sessions, remembered }: SessionApiParts): AdminRoute[] {
  return [
    route(
      'GET /sessions',
      {
        summary: 'List the current sessions',
        right: 'sessions:read',
        query: SessionQuery,
        answers: { 200: pageOf(Session) },
      },
      ({ query }) => sessions.list(query),
    ),
    route(
      'DELETE /sessions/:id',
      {
        summary: 'End a session. It ends on every host within a second',
        right: 'sessions:write',
        act: 'session-end',
        names: ({ params }) => ({ target: `session:${params.id}` }),
        answers: DONE,
      },
      async ({ params, names }) => {
        const ended = await sessions.endByPublicId(params.id)
        if (ended === null) {
          throw new PlatformError(
            'ERR_NOT_FOUND',
            `There is no current session with the id "${params.id.slice(0, 100)}". It may have ended.`,
          )
        }
        names.solution = ended.realm
        names.target = userTarget(ended)
        // Without this, the remember-me cookie would sign the user in again.
        if (ended.selector !== null) await remembered.endSeries(ended.selector)
      },
    ),
  ]
}
