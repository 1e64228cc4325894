import { type Explained, explainFindings } from '../../base/bundles/explain-findings.ts'
import { loginPageLocales } from '../../base/bundles/login-preview.ts'
import { type LoginStateName, loginStatesOf } from '../../base/bundles/login-states.ts'
import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import type { Warning } from '../../runtime/bundle/faults.ts'
import { LOGIN_TEMPLATE } from '../../runtime/bundle/layout.ts'
import { unpackBundle } from '../../runtime/bundle/unpack-bundle.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

export type LoginPageWarning = Explained<Warning>

export type LoginPageFacts = {
  /** Whether the active version has a `media/login.html`. */
  readonly hasTemplate: boolean
  /**
   * Whether users see the template. They see the default page if the template lacks the form, the username or the
   * password. With PLATFORM_CLOUD, they see the control center's page.
   */
  readonly isUsed: boolean
  readonly warnings: readonly LoginPageWarning[]
  readonly locales: readonly string[]
  readonly states: readonly LoginStateName[]
}

/** Describes the login page of a solution's active version. */
export async function lookAtLoginPage(
  solution: Pick<PreparedSolution, 'manifest' | 'template' | 'texts' | 'warnings'>,
  packed: Uint8Array,
  limits: Limits,
): Promise<LoginPageFacts> {
  const { authenticator } = solution.manifest
  const files = await unpackBundle(packed, limits, (name) => name === LOGIN_TEMPLATE)
  const ofTemplate = (solution.warnings ?? []).filter(({ file }) => file === LOGIN_TEMPLATE)
  return {
    hasTemplate: files.has(LOGIN_TEMPLATE),
    isUsed: solution.template !== null && authenticator !== 'PLATFORM_CLOUD',
    warnings: explainFindings(ofTemplate, files),
    locales: loginPageLocales(solution),
    states: loginStatesOf(authenticator),
  }
}

/**
 * Returns the active version's bundle.
 * @throws ERR_VERSION_NOT_FOUND if the version has just been erased
 */
export async function activeBundle(
  store: Pick<SolutionStore, 'bundle'>,
  { name, facts }: { readonly name: string; readonly facts: { readonly sha256: string } },
): Promise<Uint8Array> {
  const packed = await store.bundle(name, facts.sha256)
  if (packed !== null) return packed
  throw new PlatformError(
    'ERR_VERSION_NOT_FOUND',
    `The active version of "${name}" has just been deleted. Try again.`,
    { name },
  )
}
