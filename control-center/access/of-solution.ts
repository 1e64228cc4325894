import type { Context } from 'koa'
import { SolutionName } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Access, Member } from './access.ts'
import type { Right } from './roles.ts'

/** A solution in an organisation; `organisation` is the organisation's id. */
export type Place = { readonly organisation: string; readonly solution: string }

/**
 * Returns the solution in the URL. It may have no packages yet, because its users can be created before them.
 * @throws ERR_SOLUTION_NOT_FOUND for an invalid solution name
 */
export function placeOf({
  who,
  params,
}: {
  readonly who: Member
  readonly params: { readonly solution: string }
}): Place {
  return { organisation: who.organisation.id, solution: needSolutionName(params.solution, 'ERR_SOLUTION_NOT_FOUND') }
}

/** @throws `code` for an invalid name */
export function needSolutionName(text: string, code: 'ERR_SOLUTION_NOT_FOUND' | 'ERR_NOT_FOUND'): string {
  const name = SolutionName.safeParse(text)
  if (name.success) return name.data
  const shown = text.slice(0, 100)
  const message = `"${shown}" is not a valid solution name. Use 1 to 63 lowercase letters, digits and hyphens.`
  throw new PlatformError(code, message)
}

/** The member who sent the request, and the solution and user ID in the URL. */
export async function ofSolution(ctx: Context, access: Access, right: Right) {
  const member = await access.need(ctx, right)
  const { solution = '', uid = '' } = ctx.params as { solution?: string; uid?: string }
  return { member, place: placeOf({ who: member, params: { solution } }), uid }
}
