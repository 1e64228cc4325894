import * as z from 'zod'
import type { PlatformKey } from '../config/platform-key.ts'

/** What is to happen after a sign-out, when the browser may first have to go to the provider and back. */
export type AfterLogout = {
  /** Where the browser goes on, as a script asked for it by `application.showURL`; null: the page that says "signed out". */
  readonly target: string | null
  /** A provider at which the user is still signed in, for that page. */
  readonly provider: string | null
}

/**
 * Carries it in the parameter `state` of the signed-out page: signed, so that nobody makes an address of ours that leads
 * elsewhere, and good for an hour.
 */
export interface AfterLogoutState {
  write(solution: string, after: AfterLogout): string
  /** @returns null for what this platform did not write for the solution, or too long ago */
  read(solution: string, state: string): AfterLogout | null
}

const PURPOSE = 'after-logout'
const LIFETIME = 3_600_000
/** Characters: `showURL` takes addresses of 2,048. */
const LONGEST = 4096

const Content = z.strictObject({
  target: z.string().nullable(),
  provider: z.string().nullable(),
  expiresAt: z.int(),
})

/** @param now the clock, in epoch milliseconds */
export function createAfterLogoutState(key: PlatformKey, now: () => number = Date.now): AfterLogoutState {
  const signed = (solution: string, text: string) => `${solution} ${text}`
  return {
    write(solution, after) {
      const content: z.infer<typeof Content> = { ...after, expiresAt: now() + LIFETIME }
      const text = Buffer.from(JSON.stringify(content)).toString('base64url')
      return `${text}.${key.sign(PURPOSE, signed(solution, text))}`
    },
    read(solution, state) {
      const [, text = '', signature = ''] = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(state) ?? []
      if (state.length > LONGEST || !key.verify(PURPOSE, signed(solution, text), signature)) return null
      const content = Content.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
      if (!content.success || content.data.expiresAt <= now()) return null
      const { target, provider } = content.data
      return { target, provider }
    },
  }
}
