import { readSigned, writeSigned } from '../../base/accounts/signed-text.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { z } from '../../runtime/zod.ts'

/**
 * Tickets that allow the preview of a login page to load its solution's media. The preview is sandboxed, so its
 * requests have no cookies. Instead, the ticket in the URL proves that a signed-in operator opened the preview.
 */
export interface PreviewTickets {
  issue(solution: string): string
  isFor(solution: string, ticket: string): boolean
}

const PURPOSE = 'login-preview'
/**
 * Lifetime of a ticket in ms, equal to the default lifetime of sessions on the admin pages. A ticket gives access only
 * to media that all of the solution's users can see.
 */
const LIFETIME = 12 * 3_600_000
/** The maximum length of a ticket, in characters. */
const LONGEST = 500

const Content = z.object({ solution: z.string(), until: z.number() })

/** @param now returns the current time in epoch milliseconds */
export function createPreviewTickets(key: PlatformKey, now: () => number = Date.now): PreviewTickets {
  return {
    issue: (solution) => writeSigned(key, PURPOSE, { solution, until: now() + LIFETIME }),
    isFor(solution, ticket) {
      const read = Content.safeParse(readSigned(key, PURPOSE, ticket, LONGEST))
      return read.success && read.data.solution === solution && read.data.until > now()
    },
  }
}
