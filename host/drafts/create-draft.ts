import { newSolution } from '../../base/bundles/new-solution.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { defaultLoginTemplate } from '../../base/web/pages.ts'
import { LOGIN_TEMPLATE, placeOf } from '../../runtime/bundle/layout.ts'
import { ManifestSchema } from '../../runtime/bundle/manifest.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { Draft, DraftStore } from './draft-store.ts'

/** Templates for the first files of a draft: a small solution, or the default login page. */
export const TEMPLATES = ['solution', 'login-page'] as const
export type Template = (typeof TEMPLATES)[number]

export type NewDraft = {
  readonly solution: string
  readonly owner: string
  readonly base?: string | undefined
  readonly template?: Template | undefined
}

export type CreateDraftParts = {
  readonly drafts: Pick<DraftStore, 'create' | 'remove'>
  readonly store: Pick<SolutionStore, 'activeSha256' | 'hasVersion'>
}

/**
 * Creates a draft from a version or a template, for an existing or a new solution.
 * @throws ERR_VERSION_NOT_FOUND, ERR_SOLUTION_EXISTS, ERR_TOO_MANY_DRAFTS, ERR_REQUEST_INVALID for an invalid name
 */
export async function createDraft(given: NewDraft, { drafts, store }: CreateDraftParts): Promise<Draft> {
  const { solution, owner, template } = given
  needSolutionName(solution)
  const active = await store.activeSha256(solution)
  if (template === 'solution' && active !== null) {
    throw new PlatformError(
      'ERR_SOLUTION_EXISTS',
      `There is already a solution "${solution}". Choose another name, or create a draft of that solution.`,
      { name: solution },
    )
  }
  const base = given.base ?? (template === 'login-page' ? active : null)
  if (base !== null && !(await store.hasVersion(solution, base))) throw versionNotFound(solution, base)
  const draft = await drafts.create({ solution, base, owner }, filesOf(solution, base, template))
  // The version can't be erased while a draft is based on it, but it may have been erased just before that.
  if (base === null || (await store.hasVersion(solution, base))) return draft
  await drafts.remove(solution, draft.id)
  throw versionNotFound(solution, base)
}

function filesOf(solution: string, base: string | null, template: Template | undefined): Map<string, Uint8Array> {
  const loginPage = [LOGIN_TEMPLATE, Buffer.from(defaultLoginTemplate())] as const
  if (base !== null) return new Map(template === 'login-page' ? [loginPage] : [])
  const files = newSolution(solution, template === 'login-page' ? 'DEFAULT' : 'NONE')
  const used = [...files].filter(([path]) => placeOf(path).kind !== 'unused')
  const written = used.map(([path, text]) => [path, Buffer.from(text)] as const)
  return new Map(template === 'login-page' ? [...written, loginPage] : written)
}

function needSolutionName(name: string): void {
  const problem = ManifestSchema.shape.name.safeParse(name).error?.issues[0]?.message
  if (problem === undefined) return
  throw new PlatformError('ERR_REQUEST_INVALID', `"${name.slice(0, 100)}" is not a valid solution name: it ${problem}.`)
}
