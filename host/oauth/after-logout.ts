import type { PlatformKey } from '../../base/config/platform-key.ts'
import { z } from '../../runtime/zod.ts'

/** Where the browser goes after a sign-out, possibly with a redirect to the provider in between. */
export type AfterLogout = {
  /** The URL that a script set with `application.showURL`; null for the signed-out page. */
  readonly target: string | null
  /** The provider where the user is still signed in, for the signed-out page; null if there is none. */
  readonly provider: string | null
  /** Path and query of the page where the user can sign in again; null for the start page. */
  readonly page: string | null
}

/**
 * Encrypts this data for the signed-out page's parameter `state`. The data is valid for an hour. Nobody can forge it,
 * so it can't be used as an open redirect. The provider returns it but can't read it.
 */
export interface AfterLogoutState {
  write(solution: string, after: AfterLogout): string
  /** @returns null if the data is expired, or this platform did not issue it for the solution */
  read(solution: string, state: string): AfterLogout | null
}

const LIFETIME = 3_600_000
/** Maximum characters of `state`. `showURL` accepts URLs of up to 2,048. */
const LONGEST = 4096

const Content = z.strictObject({
  target: z.string().nullable(),
  provider: z.string().nullable(),
  page: z.string().nullable(),
  expiresAt: z.int(),
})

/** @param now returns the current time in epoch milliseconds */
export function createAfterLogoutState(key: PlatformKey, now: () => number = Date.now): AfterLogoutState {
  const purposeOf = (solution: string) => `after-logout ${solution}`
  return {
    write(solution, after) {
      const content: z.infer<typeof Content> = { ...after, expiresAt: now() + LIFETIME }
      return key.encrypt(purposeOf(solution), JSON.stringify(content))
    },
    read(solution, state) {
      const text = state.length > LONGEST ? null : key.decrypt(purposeOf(solution), state)
      if (text === null) return null
      const content = Content.safeParse(JSON.parse(text))
      if (!content.success || content.data.expiresAt <= now()) return null
      const { target, provider, page } = content.data
      return { target, provider, page }
    },
  }
}
