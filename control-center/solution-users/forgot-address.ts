import type { PlatformKey } from '../../base/config/platform-key.ts'

/** A solution, identified by the names in a URL. */
export type NamedSolution = { readonly organisation: string; readonly solution: string }

/**
 * The URL where a solution's users request a password reset. Its signature shows that the control center created the
 * URL for this solution's login page. With a valid signature, the page has the login page's design. Without one, it
 * looks the same for every solution. It therefore doesn't reveal which organisations and solutions exist.
 */
export interface ForgotAddress {
  of(origin: string, names: NamedSolution): string
  isSigned(names: NamedSolution, signature: string): boolean
}

const PURPOSE = 'forgot-address'

export function createForgotAddress(key: Pick<PlatformKey, 'sign' | 'verify'>): ForgotAddress {
  const textOf = ({ organisation, solution }: NamedSolution) => `${organisation}/${solution}`
  return {
    of: (origin, names) => `${origin}/forgot-password/${textOf(names)}?key=${key.sign(PURPOSE, textOf(names))}`,
    isSigned: (names, signature) => key.verify(PURPOSE, textOf(names), signature),
  }
}
