import type { LimitName, Limits } from '../../runtime/limits.ts'
import { ScriptError } from '../../runtime/plugin.ts'

/** Errors for the script's author if a query fails. Everything here may be shown to the solution. */

/** Maximum characters of a server's message that are passed on. */
const SERVER_TEXT = 500

export function unknownName(name: string, known: readonly string[]): ScriptError {
  const named = known.length === 0 ? 'no databases are listed' : `listed: ${known.slice(0, 20).join(', ')}`
  return new ScriptError(
    `solution.json does not list the database ${name}: correct the name, or add the database to "databases" (${named})`,
  )
}

export function notGranted(name: string): ScriptError {
  return new ScriptError(
    `the operator has not granted the database ${name} to this solution; ask the operator to grant it`,
  )
}

export function otherServer(name: string, asked: string, granted: string): ScriptError {
  return new ScriptError(
    `solution.json requests the database ${name} on ${asked}, but the operator granted it on ${granted}; correct solution.json, or ask the operator to change the grant`,
  )
}

export function unreachable(name: string): ScriptError {
  return new ScriptError(
    `the server with the database ${name} is unreachable or rejects the login; try again later, or ask the operator to check the host’s log`,
  )
}

export function overLimit(limits: Limits, name: LimitName, what: string): ScriptError {
  return new ScriptError(`${what} (limit ${name}: ${limits[name]})`)
}

export function overRows(limits: Limits): ScriptError {
  return overLimit(limits, 'QUERY_ROWS', `the result has more than ${limits.QUERY_ROWS} rows; select fewer rows`)
}

export function overSize(limits: Limits): ScriptError {
  return overLimit(
    limits,
    'QUERY_SIZE',
    `the result is larger than ${limits.QUERY_SIZE} bytes; select fewer rows or columns`,
  )
}

export function overTime(limits: Limits): ScriptError {
  return overLimit(
    limits,
    'QUERY_TIME',
    `the query took longer than ${limits.QUERY_TIME} ms; simplify it or add an index`,
  )
}

export function waitedTooLong(limits: Limits): ScriptError {
  const what = `the query waited ${limits.QUERY_TIME} ms for the solution’s other queries, so it was not started; try again later`
  return overLimit(limits, 'QUERY_TIME', what)
}

export function tooManyWaiting(): ScriptError {
  return new ScriptError(
    'too many of the solution’s queries are waiting; await each query before you start the next one',
  )
}

/**
 * The error for a query that the server rejected, with the server's shortened message. IP addresses are removed, and so
 * are the words in `secrets`, such as the connection's account and host name.
 */
export function serverAnswered(message: string, secrets: readonly string[] = []): ScriptError {
  let text = message.replaceAll(/[\r\n]+/g, ' ').slice(0, 4 * SERVER_TEXT)
  for (const secret of secrets) {
    // Replace whole words only: an account `app` must not change the table name app_users.
    if (secret !== '') text = text.replaceAll(new RegExp(`(?<!\\w)${RegExp.escape(secret)}(?!\\w)`, 'g'), '…')
  }
  text = text
    .replaceAll(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '…')
    .replaceAll(/\[?(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}(?:%\w+)?\]?/gi, '…')
  return new ScriptError(
    `the database reported: ${text.length > SERVER_TEXT ? `${text.slice(0, SERVER_TEXT)}…` : text}`,
  )
}
