import type { NodeReport } from '../satellites/reports.ts'
import type { StepFailure } from './rollouts.ts'

/** What an environment was asked to run of one solution; `sha256` null: nothing in particular any more. */
export type Asked = {
  readonly solution: string
  readonly sha256: string | null
  /** Of the desired state that asks for it. */
  readonly number: number
  /** Epoch ms. */
  readonly since: number
}

/** `null`: not all of its nodes have answered yet. */
export type Verdict = 'done' | StepFailure | null

/**
 * What the reports of an environment's live nodes come to. One that failed is enough; to be done, each of them must have
 * tried the number or a later one.
 */
export function judge(asked: Asked, nodes: readonly NodeReport[]): Verdict {
  for (const node of nodes) {
    const failure = failureOf(asked, node)
    if (failure !== null) return failure
  }
  return nodes.length > 0 && nodes.every(({ number }) => number >= asked.number) ? 'done' : null
}

/** It may refuse an earlier statement still: by now it has looked at this one, which it does every minute. In ms. */
const REFUSED_AFTER = 90_000

function failureOf({ solution, sha256, number, since }: Asked, node: NodeReport): StepFailure | null {
  if (node.outcome === 'refused' && node.number < number && node.seenAt >= since + REFUSED_AFTER) {
    return { code: 'statement', message: node.reason ?? '', faults: [] }
  }
  if (node.number < number || sha256 === null) return null
  const result = node.results.find(({ name }) => name === solution)
  if (result === undefined || result.sha256 !== sha256) return CHANGED
  if (result.outcome === 'active') return null
  const message = result.message ?? result.code ?? ''
  return { code: 'refused', message, faults: result.faults ?? [] }
}

export const CHANGED: StepFailure = {
  code: 'changed',
  message: 'Somebody asked for another version of the solution meanwhile.',
  faults: [],
}

/** It did not answer in time; its own words where it said any. */
export function silence(nodes: readonly NodeReport[]): StepFailure {
  const words = nodes.map(({ reason }) => reason).find((reason) => reason !== undefined)
  const message =
    nodes.length === 0 ? 'No Satellite of the environment is connected.' : (words ?? 'It did not answer in time.')
  return { code: 'silent', message, faults: [] }
}
