import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { ClientSide } from '../../base/http/client.ts'
import type { Sites } from '../../base/http/sites.ts'
import { isAllowedAddress } from '../../runtime/address.ts'
import { z } from '../../runtime/zod.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { readSigned, writeSigned } from './signed-text.ts'

/** Where the browser goes on after a script signed its user out: an address of `application.showURL`, or a solution. */
export type SignOutTarget =
  | { readonly address: string }
  | { readonly solution: string; readonly argument: string | null }

/**
 * Carries a target from a client's script through the page to the solution's logout, so that nobody makes an address of
 * ours that leads elsewhere: for a minute, for the one session. It may be used twice, as the session is over after it.
 */
export interface SignOutTargets {
  /** @param session its public id */
  issue(solution: string, session: string, target: SignOutTarget): string
  /** @returns null for what this platform did not write for the session, or longer ago */
  read(solution: string, session: string, token: string): SignOutTarget | null
}

const PURPOSE = 'client-sign-out'
/** In ms: the page posts it at once. */
const LIFETIME = 60_000
/** Characters: addresses and arguments have 2,048, which JSON and base64 make up to 8 times as long. */
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

/** @param now the clock, in epoch milliseconds */
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

/** @returns null for an address that a script may not send a browser to, or a solution that is not there */
export async function addressOfTarget(
  target: SignOutTarget,
  client: ClientSide,
  parts: TargetParts,
): Promise<string | null> {
  if ('address' in target) return isAllowedAddress(target.address) ? target.address : null
  return pageOfSolution(target, client, parts)
}

/**
 * The page of the solution that `security.logout(solution, argument)` goes on with.
 * @returns null where none is named, or it is not there
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
