import type { NodeReport } from '../satellites/reports.ts'
import type { StepFailure } from './rollouts.ts'

/**
 * The version of a solution that an environment should run. If `sha256` is null, no particular version is requested, or
 * the request was withdrawn.
 */
export type Asked = {
  readonly solution: string
  readonly sha256: string | null
  /** Sequence number of the desired state that contains this version. */
  readonly number: number
  /** When the rollout's step started, in epoch ms. */
  readonly since: number
}

/** `null`: undecided, because no node is running, or some nodes have not tried the desired state yet. */
export type Verdict = 'done' | StepFailure | null

/**
 * Decides from the reports of an environment's running nodes whether the change succeeded. One failed node fails the
 * environment. The environment is done when every node has tried this sequence number or a later one.
 */
export function judge(asked: Asked, nodes: readonly NodeReport[]): Verdict {
  for (const node of nodes) {
    const failure = failureOf(asked, node)
    if (failure !== null) return failure
  }
  return nodes.length > 0 && nodes.every(({ number }) => number >= asked.number) ? 'done' : null
}

/**
 * How long, in ms, a rejection can still refer to an older statement. Nodes poll every minute, so a later rejection
 * refers to the current statement.
 */
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
  message: 'A different version of the solution was requested for this environment during the rollout.',
  faults: [],
}

/**
 * Returns the failure for an environment whose nodes did not apply the version in time. If a node reported why it
 * rejected the statement, the message contains that reason.
 */
export function silence(nodes: readonly NodeReport[]): StepFailure {
  const words = nodes.map(({ reason }) => reason).find((reason) => reason !== undefined)
  const message =
    nodes.length === 0
      ? 'No Satellite is connected in this environment.'
      : (words ?? 'Not all Satellites in this environment applied the change in time.')
  return { code: 'silent', message, faults: [] }
}
