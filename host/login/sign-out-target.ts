import { readSigned, writeSigned } from '../../base/accounts/signed-text.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { ClientSide } from '../../base/http/client.ts'
import type { Sites } from '../../base/http/sites.ts'
import { isAllowedAddress } from '../../runtime/address.ts'
import { z } from '../../runtime/zod.ts'
import type { Catalog } from '../solutions/catalog.ts'

/**
 * Where the browser goes after a script has signed its user out: a URL from `application.showURL`, or a solution's
 * page.
 */
export type SignOutTarget =
  | { readonly address: string }
  | { readonly solution: string; readonly argument: string | null }

/**
 * Creates signed tokens that contain a sign-out target. A client's script passes the target through the page to the
 * solution's logout. Without a signature, the logout would be an open redirect. A token is valid for a minute and for
 * one session. It can be used again, which is harmless because the first use ends the session.
 */
export interface SignOutTargets {
  /** @param session the session's public id */
  issue(solution: string, session: string, target: SignOutTarget): string
  /** @returns null if the token is expired or this platform did not issue it for the session */
  read(solution: string, session: string, token: string): SignOutTarget | null
}

const PURPOSE = 'client-sign-out'
/** How long a token is valid, in ms. The time is short, because the page posts the token immediately. */
const LIFETIME = 60_000
/**
 * Maximum characters of a token. URLs and arguments can have 2,048 characters. As JSON in base64, they are up to 8
 * times as long.
 */
const LONGEST = 20_000

const Content = z.strictObject({
  solution: z.string(),
  session: z.string(),
  target: z.union([
    z.strictObject({ address: z.string() }),
    z.strictObject({ solution: z.string(), argument: z.string().nullable() }),
  ]),
  expiresAt: z.int(),
})

/** @param now returns the current time in epoch milliseconds */
export function createSignOutTargets(key: PlatformKey, now: () => number = Date.now): SignOutTargets {
  return {
    issue(solution, session, target) {
      const content: z.infer<typeof Content> = { solution, session, target, expiresAt: now() + LIFETIME }
      return writeSigned(key, PURPOSE, content)
    },
    read(solution, session, token) {
      const content = Content.safeParse(readSigned(key, PURPOSE, token, LONGEST))
      if (!content.success || content.data.expiresAt <= now()) return null
      if (content.data.solution !== solution || content.data.session !== session) return null
      return content.data.target
    },
  }
}

export type TargetParts = { readonly sites: Sites; readonly catalog: Catalog }

/** @returns the URL of the target; null if scripts may not redirect to it, or if the solution does not exist */
export async function addressOfTarget(
  target: SignOutTarget,
  client: ClientSide,
  parts: TargetParts,
): Promise<string | null> {
  if ('address' in target) return isAllowedAddress(target.address) ? target.address : null
  return pageOfSolution(target, client, parts)
}

/**
 * Returns the URL of the page that `security.logout(solution, argument)` redirects to.
 * @returns null if no solution is given, or it does not exist
 */
export async function pageOfSolution(
  { solution, argument }: { readonly solution: string | null; readonly argument: string | null },
  client: ClientSide,
  { sites, catalog }: TargetParts,
): Promise<string | null> {
  if (solution === null || (await catalog.active(solution)) === null) return null
  const query = argument === null ? '' : `?${new URLSearchParams({ argument })}`
  return `${sites.originOf(solution, client)}/solution/${solution}/index.html${query}`
}
