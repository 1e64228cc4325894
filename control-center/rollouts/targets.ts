import { ENVIRONMENT_TYPES, type Environment } from '../environments/environments.ts'

/** An environment that can be chosen for a rollout. `position` starts at 1. */
export type Target = Pick<Environment, 'id' | 'name' | 'type'> & {
  readonly position: number
  readonly isChosen: boolean
  readonly isProduction: boolean
}

/** Query parameters, as parsed by koa, of the page for choosing environments. */
export type TargetQuery = Readonly<Record<string, string | string[] | undefined>>

const PRODUCTION = /(^|-)prod(uction)?(-|$)/

/** Whether an environment is used for production, judged by its type or its name. */
export function isProduction({ name, type }: Pick<Environment, 'name' | 'type'>): boolean {
  return type === 'prod' || (type !== 'preprod' && PRODUCTION.test(name))
}

/**
 * Sorts the environments in the usual order of a rollout, from development to production. Environments of the same type
 * are sorted by name.
 */
function usualOrder<One extends Pick<Environment, 'name' | 'type'>>(environments: readonly One[]): readonly One[] {
  const rank = (one: One) => (isProduction(one) ? ENVIRONMENT_TYPES.length : ENVIRONMENT_TYPES.indexOf(one.type))
  return environments.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

/**
 * Sorts the environments as the query specifies: `environment` is the name of each chosen environment, and
 * `position-{name}` is its position. Environments without a position follow those that have one, in their usual order.
 * @param suggested names of the environments to choose if the query contains none; production environments are skipped
 */
export function targetsIn(
  query: TargetQuery,
  environments: readonly Environment[],
  suggested: ReadonlySet<string>,
): readonly Target[] {
  const chosen = new Set([query.environment ?? []].flat())
  const isAsked = query.environment !== undefined
  const position = (name: string) => {
    const number = Number(query[`position-${name}`])
    return Number.isInteger(number) && number > 0 ? number : Number.POSITIVE_INFINITY
  }
  const inOrder = usualOrder(environments)
    .map((one) => ({ ...one, asked: position(one.name) }))
    .sort((a, b) => (a.asked === b.asked ? 0 : a.asked - b.asked))
  return inOrder.map(({ id, name, type }, index) => {
    const isForProduction = isProduction({ name, type })
    const isChosen = isAsked ? chosen.has(name) : suggested.has(name) && !isForProduction
    return { id, name, type, position: index + 1, isChosen, isProduction: isForProduction }
  })
}
