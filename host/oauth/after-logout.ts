import type { PlatformKey } from '../../base/config/platform-key.ts'
import { z } from '../../runtime/zod.ts'

/** What is to happen after a sign-out, when the browser may first have to go to the provider and back. */
export type AfterLogout = {
  /** Where the browser goes on, as a script asked for it by `application.showURL`; null: the page that says "signed out". */
  readonly target: string | null
  /** A provider at which the user is still signed in, for that page. */
  readonly provider: string | null
  /** Path and query of the solution's page that the user had signed in for, to sign in again; null: the start page. */
  readonly page: string | null
}

/**
 * Carries it in the parameter `state` of the signed-out page, good for an hour: encrypted, so that nobody makes an address of
 * ours that leads elsewhere, and the provider that sends it back reads nothing of it.
 */
export interface AfterLogoutState {
  write(solution: string, after: AfterLogout): string
  /** @returns null for what this platform did not write for the solution, or too long ago */
  read(solution: string, state: string): AfterLogout | null
}

const LIFETIME = 3_600_000
/** Characters: `showURL` takes addresses of 2,048. */
const LONGEST = 4096

const Content = z.strictObject({
  target: z.string().nullable(),
  provider: z.string().nullable(),
  page: z.string().nullable(),
  expiresAt: z.int(),
})

/** @param now the clock, in epoch milliseconds */
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
