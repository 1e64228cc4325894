import { isLoopback } from '../base/config/host-names.ts'
import { CommandError } from '../base/terminal/command.ts'
import type { Terminal } from '../base/terminal/terminal.ts'
import { askSecret } from './prompt.ts'

/** Options of every command that connects to a host. */
export const HOST_OPTIONS = {
  user: {
    type: 'string',
    value: '<name>',
    what: 'sign in as the admin account, by SOLHOST_PASSWORD or a prompt, not by a token',
  },
  'allow-http': { type: 'boolean', what: 'send token or password unencrypted to another machine' },
} as const

export const HOST_NOTES = `The token comes from SOLHOST_TOKEN or is asked for. The operator makes one that is for one solution alone:

  curl -u admin -H 'Content-Type: application/json' <url>/admin/api/tokens \\
    -d '{"name": "author of shop", "scopes": ["solutions:shop:write"]}'
`

export const USERS_NOTES = `The token comes from SOLHOST_TOKEN or is asked for; it needs the scope users:read, and users:write to change anything.
With --user it is the admin account, by SOLHOST_PASSWORD or a prompt.
`

/**
 * The `Authorization` header for requests to a host.
 * @throws CommandError if no credentials are set and the user cannot be prompted
 */
export async function authorization(user: string | undefined, terminal: Terminal): Promise<string> {
  needCredentials(user, terminal)
  const { property, question } = asked(user)
  const secret = terminal.environment[property]?.trim() || (await askSecret(question))
  if (user !== undefined) return `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`
  if (/^[\x21-\x7e]+$/.test(secret)) return `Bearer ${secret}`
  throw new CommandError('usage', 'An API token begins with "sol_" and has no blanks; this one is none.')
}

/** Checks early whether credentials are available. @throws CommandError */
export function needCredentials(user: string | undefined, terminal: Terminal): void {
  const { property } = asked(user)
  if ((terminal.environment[property]?.trim() ?? '') !== '' || terminal.isInteractive) return
  throw new CommandError('usage', `${property} is not set, and there is no terminal to ask on. Set it.`)
}

function asked(user: string | undefined): { readonly property: string; readonly question: string } {
  if (user === undefined) return { property: 'SOLHOST_TOKEN', question: 'API token: ' }
  return { property: 'SOLHOST_PASSWORD', question: `Password of ${user}: ` }
}

/** @throws CommandError if it is not the URL of a host, or if a secret would be sent unencrypted */
export function readHostAddress(text: string, allowHttp: boolean): URL {
  const url = URL.parse(text)
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (!isPlain || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    const example = 'such as https://apps.example.org or http://127.0.0.1:8080'
    throw new CommandError('usage', `"${text}" must be the address of a host without a path, ${example}.`)
  }
  if (url.protocol === 'https:' || allowHttp || isLoopback(url.hostname)) return url
  const advice = 'Use https; "--allow-http" sends it all the same.'
  throw new CommandError('usage', `On the way to ${url.host} everybody could read the token. ${advice}`)
}
