import type { Logger } from 'pino'
import type { SolutionLog } from '../../solutions/solution-log.ts'
import type { CloudFailure } from './login-requests.ts'

/**
 * Problems that prevent a solution's users from signing in through the control center. `page` only prevents them from
 * seeing its current login page.
 */
export const CLOUD_LOGIN_PROBLEMS = ['away', 'token', 'unknown', 'answer', 'page'] as const satisfies readonly (
  | CloudFailure['kind']
  | 'page'
)[]
export type CloudLoginProblem = (typeof CLOUD_LOGIN_PROBLEMS)[number]

/** Reports problems to the operator: in the solution's log, in the platform's log and on the health page. */
export interface CloudLoginProblems {
  /** @param why a short reason, without secrets */
  found(solution: string, problem: CloudLoginProblem, why: string): void
  /** Call this when the control center has sent a valid response. */
  reached(solution: string): void
  /** Call this when users see the control center's current page. */
  pageTaken(solution: string): void
  /** The current problems, at most two per solution. */
  states(): readonly { readonly solution: string; readonly problem: CloudLoginProblem }[]
}

const MESSAGES: Readonly<Record<CloudLoginProblem, (why: string) => string>> = {
  away: (why) => `The control center is unavailable, so new sign-ins fail: ${why}. Check CLOUD_URL and the network.`,
  token: (why) =>
    `The control center rejects the remote environment token, so new sign-ins fail: ${why}. Set REMOTE_ENVIRONMENT_TOKEN to a token from the control center’s Credentials page.`,
  unknown: (why) =>
    `This environment does not include the solution, so new sign-ins fail: ${why}. Add the solution to the environment in the control center.`,
  answer: (why) =>
    `The control center sent an invalid response, so new sign-ins fail: ${why}. Check that CLOUD_URL is the URL of a control center with a compatible version.`,
  page: (why) =>
    `The login page from the control center was rejected: ${why}. Users see the previous page or the default one. Fix the page in the control center.`,
}

/** Minimum interval between log lines for a problem that comes and goes, in ms. */
const QUIET = 60_000

export function createCloudLoginProblems(
  log: Pick<Logger, 'warn'>,
  solutionLog: Pick<SolutionLog, 'write'>,
  now: () => number = Date.now,
): CloudLoginProblems {
  const ofReaching = new Map<string, CloudLoginProblem>()
  const ofPage = new Set<string>()
  /** The last log line for each solution and problem. */
  const said = new Map<string, { readonly text: string; readonly at: number }>()

  function say(solution: string, problem: CloudLoginProblem, why: string, isNews: boolean): void {
    const text = MESSAGES[problem](why)
    const key = `${solution} ${problem}`
    const last = said.get(key)
    if (last?.text === text && (!isNews || now() - last.at < QUIET)) return
    said.set(key, { text, at: now() })
    solutionLog.write(solution, { level: 'error', message: text })
    log.warn({ solution, problem }, text)
  }

  return {
    found(solution, problem, why) {
      const isNews = problem === 'page' ? !ofPage.has(solution) : ofReaching.get(solution) !== problem
      if (problem === 'page') ofPage.add(solution)
      else ofReaching.set(solution, problem)
      say(solution, problem, why, isNews)
    },
    reached: (solution) => void ofReaching.delete(solution),
    pageTaken: (solution) => void ofPage.delete(solution),
    states: () => [
      ...[...ofReaching].map(([solution, problem]) => ({ solution, problem })),
      ...[...ofPage].map((solution) => ({ solution, problem: 'page' as const })),
    ],
  }
}
