import { SOLHOST } from '../base/program/program-name.ts'
import { CommandError, type Exit } from '../base/terminal/command.ts'
import { printable } from '../base/terminal/terminal.ts'
import type { ApiAnswer } from './host-api.ts'

/** The properties of a problem document of the admin API, not validated. */
type Problem = { readonly code?: unknown; readonly detail?: unknown; readonly correlationId?: unknown }

type Refusal = { readonly exit: Exit; readonly text: (detail: string, solution: string) => string }

/** Our own sentences; the host's message is inserted between them. */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  401: {
    exit: 'refused',
    text: (detail) =>
      `The host does not know this token or password: ${detail}\nNext: ask the operator for another one.`,
  },
  403: {
    exit: 'refused',
    text: (detail, solution) =>
      `The token is known, but may not do this: ${detail}\n` +
      `Next: ask the operator for one with the scope solutions:${solution}:write.`,
  },
  404: {
    exit: 'failed',
    text: (detail) => `The host has no such solution: ${detail}\nNext: "${SOLHOST} deploy" uploads one.`,
  },
  409: {
    exit: 'failed',
    text: (detail) => `The host has another solution under this name: ${detail}\nNext: change "name" in solution.json.`,
  },
  413: {
    exit: 'faults',
    text: (detail) => `The bundle is too large for this host: ${detail}\nNext: make it smaller, or ask the operator.`,
  },
  421: {
    exit: 'unreachable',
    text: (detail) => `The host does not answer to this name: ${detail}\nNext: use the address that its users use.`,
  },
  429: { exit: 'refused', text: (detail) => `The host counts failed sign-ins: ${detail}` },
}

/** Sentences that differ for users. */
const USER_REFUSALS: Readonly<Record<number, Refusal>> = {
  403: {
    exit: 'refused',
    text: (detail) =>
      `The token is known, but may not do this: ${detail}\n` +
      'Next: ask the operator for one with the scope users:read, or users:write to change them.',
  },
  404: { exit: 'failed', text: (detail) => `${detail}\nNext: "${SOLHOST} users list" lists the users.` },
  409: {
    exit: 'failed',
    text: (detail) => `${detail}\nNext: choose another name, or change that user by "users set".`,
  },
  413: { exit: 'failed', text: (detail) => `It is too much for this host at once: ${detail}\nNext: split the file.` },
  422: { exit: 'failed', text: (detail) => `The host does not take that: ${detail}` },
}

/** The same for requests about users. */
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
    throw new CommandError('unreachable', `${url.origin} leads on to ${printable(target)}. Use that address.`)
  }
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Problem
  if (typeof problem.code !== 'string') {
    const text = `What answers at ${url.origin} is no Solhost, or something before it (HTTP ${status}).`
    throw new CommandError('unreachable', `${text} Correct the address.`)
  }
  const detail = printable(typeof problem.detail === 'string' ? problem.detail : problem.code)
  const refusal = own[status] ?? REFUSALS[status]
  if (refusal !== undefined) throw new CommandError(refusal.exit, refusal.text(detail, solution))
  const reference =
    typeof problem.correlationId === 'string' ? ` Its log has the reference ${problem.correlationId}.` : ''
  throw new CommandError('failed', `The host could not do it (${status}): ${detail}${printable(reference)}`)
}
