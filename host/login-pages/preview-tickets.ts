import type { PlatformKey } from '../../base/config/platform-key.ts'
import { z } from '../../runtime/zod.ts'
import { readSigned, writeSigned } from '../login/signed-text.ts'

/**
 * Lets the preview of a login page load the media of its solution. That page is sandboxed, so no cookie comes along with
 * what it asks for; a ticket in the address shows instead that somebody who is signed in looks at it.
 */
export interface PreviewTickets {
  issue(solution: string): string
  isFor(solution: string, ticket: string): boolean
}

const PURPOSE = 'login-preview'
/** As long as a session of the pages lasts at most, in ms. It opens nothing but what the solution's users see anyway. */
const LIFETIME = 12 * 3_600_000
/** Characters. */
const LONGEST = 500

const Content = z.object({ solution: z.string(), until: z.number() })

/** @param now the clock, in epoch milliseconds */
export function createPreviewTickets(key: PlatformKey, now: () => number = Date.now): PreviewTickets {
  return {
    issue: (solution) => writeSigned(key, PURPOSE, { solution, until: now() + LIFETIME }),
    isFor(solution, ticket) {
      const read = Content.safeParse(readSigned(key, PURPOSE, ticket, LONGEST))
      return read.success && read.data.solution === solution && read.data.until > now()
    },
  }
}
