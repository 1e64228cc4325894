import { type Explained, explainFindings } from '../../base/bundles/explain-findings.ts'
import { loginPageLocales } from '../../base/bundles/login-preview.ts'
import { type LoginStateName, loginStatesOf } from '../../base/bundles/login-states.ts'
import { packFiles } from '../../base/bundles/pack.ts'
import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import { defaultLoginTemplate } from '../../base/web/pages.ts'
import type { Warning } from '../../runtime/bundle/faults.ts'
import { unpackBundle } from '../../runtime/bundle/unpack-bundle.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { Uploaded, Uploads } from '../solutions/upload.ts'

export const LOGIN_TEMPLATE = 'media/login.html'

export type LoginPageWarning = Explained<Warning>

export type LoginPageFacts = {
  /** Whether the active version has a `media/login.html`. */
  readonly hasTemplate: boolean
  /**
   * Whether users see the template. The default page replaces a template that lacks the form, the username or the
   * password. With PLATFORM_CLOUD, users see the control center's page.
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

export type GenerateParts = {
  readonly uploads: Pick<Uploads, 'change'>
  readonly limits: Limits
}

/**
 * Adds the default login page to a solution's media, so that its author can edit it. This creates a new version, which
 * is checked and activated like any upload.
 * @param options.replace whether to replace an existing `login.html`
 * @throws ERR_FILE_EXISTS if there is one and `replace` is false, and the errors of `Uploads.change`
 */
export function generateLoginPage(
  name: string,
  { replace }: { readonly replace: boolean },
  { uploads, limits }: GenerateParts,
): Promise<Uploaded> {
  return uploads.change(name, async (packed) => {
    const files = new Map(await unpackBundle(packed, limits))
    if (files.has(LOGIN_TEMPLATE) && !replace) {
      throw new PlatformError(
        'ERR_FILE_EXISTS',
        `"${name}" already has a ${LOGIN_TEMPLATE}. To replace it with the default one, send {"replace": true}.`,
        { file: LOGIN_TEMPLATE },
      )
    }
    files.set(LOGIN_TEMPLATE, Buffer.from(defaultLoginTemplate()))
    const sorted = [...files].sort(([one], [other]) => (one < other ? -1 : 1))
    return packFiles(sorted.map(([file, content]) => [file, Buffer.from(content)] as const))
  })
}

/**
 * The active version's bundle.
 * @throws ERR_VERSION_NOT_FOUND if it has just been erased
 */
export async function activeBundle(
  store: Pick<SolutionStore, 'bundle'>,
  { name, facts }: { readonly name: string; readonly facts: { readonly sha256: string } },
): Promise<Uint8Array> {
  const packed = await store.bundle(name, facts.sha256)
  if (packed !== null) return packed
  throw new PlatformError('ERR_VERSION_NOT_FOUND', `"${name}" no longer has an active version. Try again.`, { name })
}
