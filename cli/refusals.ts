import { SOLHOST } from '../base/program/program-name.ts'
import { CommandError, type Exit } from '../base/terminal/command.ts'
import { printable } from '../base/terminal/terminal.ts'
import type { ApiAnswer } from './host-api.ts'

/** The properties of the admin API's problem document. They are not validated. */
type Problem = { readonly code?: unknown; readonly detail?: unknown; readonly correlationId?: unknown }

type Refusal = { readonly exit: Exit; readonly text: (detail: string, solution: string) => string }

/** Our own messages for rejected requests, by HTTP status. They contain the host's message. */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  401: {
    exit: 'refused',
    text: (detail) =>
      `The host did not accept the token or password: ${detail}\nNext: check it, or ask the operator for a new one.`,
  },
  403: {
    exit: 'refused',
    text: (detail, solution) =>
      `The token does not allow this: ${detail}\n` +
      `Next: ask the operator for a token with the scope solutions:${solution}:write.`,
  },
  404: {
    exit: 'failed',
    text: (detail) => `${detail}\nNext: check the name, or upload the solution with "${SOLHOST} deploy".`,
  },
  409: {
    exit: 'failed',
    text: (detail) =>
      `The upload conflicts with a solution on the host: ${detail}\nNext: check "name" in solution.json.`,
  },
  413: {
    exit: 'faults',
    text: (detail) =>
      `The bundle is too large for this host: ${detail}\nNext: make the bundle smaller, or ask the operator to raise the limit.`,
  },
  421: {
    exit: 'unreachable',
    text: (detail) =>
      `The host does not serve this host name: ${detail}\nNext: use the URL that users open in their browsers.`,
  },
  429: { exit: 'refused', text: (detail) => `Too many failed sign-ins: ${detail}` },
}

/** Messages for requests about users, where they differ from the general ones. */
const USER_REFUSALS: Readonly<Record<number, Refusal>> = {
  403: {
    exit: 'refused',
    text: (detail) =>
      `The token does not allow this: ${detail}\n` +
      'Next: ask the operator for a token with the scope users:read. To make changes, it also needs users:write.',
  },
  404: { exit: 'failed', text: (detail) => `${detail}\nNext: run "${SOLHOST} users list" to see the users.` },
  409: {
    exit: 'failed',
    text: (detail) => `${detail}\nNext: choose another name, or change that user with "users set".`,
  },
  413: {
    exit: 'failed',
    text: (detail) =>
      `The request is too large for this host: ${detail}\nNext: split the file into several smaller ones.`,
  },
  422: { exit: 'failed', text: (detail) => `The host rejected the request: ${detail}` },
}

/** Returns the error for a rejected request about users. */
export function refuseUsers(answer: ApiAnswer, url: URL): never {
  return refuse(answer, url, '', USER_REFUSALS)
}

/** @throws CommandError for an error of the API and for any other unexpected response */
export function refuse(
  answer: ApiAnswer,
  url: URL,
  solution: string,
  own: Readonly<Record<number, Refusal>> = {},
): never {
  const { status, body, location } = answer
  if (location !== null && status >= 300 && status < 400) {
    const target = URL.parse(location, url)?.origin ?? location
    throw new CommandError('unreachable', `${url.origin} redirects to ${printable(target)}. Use that URL.`)
  }
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Problem
  if (typeof problem.code !== 'string') {
    const text = `${url.origin} did not respond like a Solhost server (HTTP ${status}).`
    throw new CommandError('unreachable', `${text} Check the URL.`)
  }
  const detail = printable(typeof problem.detail === 'string' ? problem.detail : problem.code)
  // Only the admin account gets this error. Its users are operators, so don't send them to the operator.
  if (problem.code === 'ERR_SECOND_FACTOR_NEEDED') {
    const next =
      'create a token on the admin pages under "API tokens", set SOLHOST_TOKEN to it, and run the command again without --user'
    throw new CommandError('refused', `${detail}\nNext: ${next}.`)
  }
  const refusal = own[status] ?? REFUSALS[status]
  if (refusal !== undefined) throw new CommandError(refusal.exit, refusal.text(detail, solution))
  const reference =
    typeof problem.correlationId === 'string'
      ? ` Look for the correlation ID ${problem.correlationId} in the host’s log.`
      : ''
  throw new CommandError(
    'failed',
    `The host could not process the request (HTTP ${status}): ${detail}${printable(reference)}`,
  )
}
