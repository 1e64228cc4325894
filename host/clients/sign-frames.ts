import type { Effects } from '../../base/bundles/host-call.ts'
import { addressOfTarget } from '../login/sign-out-target.ts'
import type { HostFrame } from '../web/frames.ts'
import type { ClientParts } from './client-parts.ts'
import type { Visitor } from './visitor.ts'

/*
 * Frames for the page of a client whose script signed a user in or out. A WebSocket can't set cookies, so the page
 * posts the decision back to the host.
 */

type Parts = Pick<ClientParts, 'clientSignIns' | 'signOutTargets' | 'sites' | 'catalog'>
type SignedIn = Pick<Effects, 'tenant' | 'locale' | 'showUrl' | 'authenticated' | 'needsSecondFactor'> & {
  readonly login: NonNullable<Effects['login']>
}
type SignedOut = Pick<Effects, 'showUrl'> & { readonly logout: NonNullable<Effects['logout']> }

/**
 * Creates the frame that makes the page sign the user in.
 * @param locale the page's locale, used unless the script has chosen one
 * @returns null if the browser lacks the login form's cookie, without which the sign-in can't finish
 */
export function signInFrame(
  { login, tenant, locale: chosen, showUrl, authenticated, needsSecondFactor = false }: SignedIn,
  { solution, browser, page }: Visitor,
  locale: string,
  { clientSignIns }: Parts,
): HostFrame | null {
  if (browser === null) return null
  const byPlatform = { authenticated: authenticated ?? null, needsSecondFactor }
  const facts = { tenant, locale: chosen ?? locale, page, showUrl, ...byPlatform }
  return { kind: 'sign-in', token: clientSignIns.issue({ solution: solution.name, browser, login, ...facts }) }
}

/** @returns null if no user was signed in and there is no other page to open */
export async function signOutFrame(
  { logout, showUrl }: SignedOut,
  { solution, found, client }: Visitor,
  parts: Parts,
): Promise<HostFrame | null> {
  const next = { solution: logout.solution ?? '', argument: logout.argument }
  const target = showUrl !== null ? { address: showUrl } : logout.solution === null ? null : next
  if (found === null) {
    const href = target === null ? null : await addressOfTarget(target, client, parts)
    return href === null ? null : { kind: 'go', href }
  }
  const token = target === null ? '' : parts.signOutTargets.issue(solution.name, found.session.publicId, target)
  return { kind: 'sign-out', token }
}
