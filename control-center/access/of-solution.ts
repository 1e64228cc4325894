import type { Context } from 'koa'
import { SolutionName } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Access, Member } from './access.ts'
import type { Right } from './roles.ts'

/** A solution of an organisation, by the organisation's id. */
export type Place = { readonly organisation: string; readonly solution: string }

/**
 * Which solution is meant. Any name that a solution can have will do: users are there before packages.
 * @throws ERR_SOLUTION_NOT_FOUND for what no solution can be called
 */
export function placeOf({
  who,
  params,
}: {
  readonly who: Member
  readonly params: { readonly solution: string }
}): Place {
  const solution = SolutionName.safeParse(params.solution)
  if (!solution.success) {
    throw new PlatformError('ERR_SOLUTION_NOT_FOUND', `No solution can be called "${params.solution.slice(0, 100)}".`)
  }
  return { organisation: who.organisation.id, solution: solution.data }
}

/** The member who asks for a page of a solution, and what about. */
export async function ofSolution(ctx: Context, access: Access, right: Right) {
  const member = await access.need(ctx, right)
  const { solution = '', uid = '' } = ctx.params as { solution?: string; uid?: string }
  return { member, place: placeOf({ who: member, params: { solution } }), uid }
}
