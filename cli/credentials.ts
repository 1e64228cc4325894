import { isLoopback } from '../base/config/host-names.ts'
import { shellWord } from '../base/program/shell-word.ts'
import { CommandError } from '../base/terminal/command.ts'
import type { Terminal } from '../base/terminal/terminal.ts'
import { askSecret } from './prompt.ts'

/** The argument of every command that connects to a host. */
export const HOST_URL = { what: 'URL of the host, such as https://apps.example.org' } as const

/** Options of every command that connects to a host. */
export const HOST_OPTIONS = {
  user: {
    type: 'string',
    value: '<name>',
    what: 'use this admin account instead of a token; set SOLHOST_PASSWORD or enter its password',
  },
  'allow-http': { type: 'boolean', what: 'allow sending the token or password unencrypted to another machine' },
} as const

export type HostOptions = { readonly user?: string | undefined; readonly 'allow-http'?: boolean | undefined }

export const HOST_NOTES = `Set SOLHOST_TOKEN to an API token, or enter it at the prompt. The operator creates a token for one solution with:

  curl -u admin -H 'Content-Type: application/json' <url>/admin/api/tokens \\
    -d '{"name": "author of shop", "scopes": ["solutions:shop:write"]}'
`

export const USERS_NOTES = `Set SOLHOST_TOKEN to an API token, or enter it at the prompt. The token needs the scope users:read. To make
changes, it also needs users:write.
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
  throw new CommandError(
    'usage',
    'The API token contains a space or a non-ASCII character. Copy the whole token again. API tokens start with "sol_".',
  )
}

/** Checks early whether credentials are available. @throws CommandError */
export function needCredentials(user: string | undefined, terminal: Terminal): void {
  const { property } = asked(user)
  if ((terminal.environment[property]?.trim() ?? '') !== '' || terminal.isInteractive) return
  throw new CommandError('usage', `${property} is not set, and there is no terminal for a prompt. Set ${property}.`)
}

function asked(user: string | undefined): { readonly property: string; readonly question: string } {
  if (user === undefined) return { property: 'SOLHOST_TOKEN', question: 'API token: ' }
  return { property: 'SOLHOST_PASSWORD', question: `Password for ${user}: ` }
}

/** Returns the host's URL and the options for it, for a command that a message suggests. */
export function hostWords(url: URL, options: HostOptions): string {
  const user = options.user === undefined ? [] : ['--user', shellWord(options.user)]
  return [url.origin, ...user, ...(options['allow-http'] === true ? ['--allow-http'] : [])].join(' ')
}

/** @throws CommandError if it is not the URL of a host, or if a secret would be sent unencrypted */
export function readHostAddress(text: string, allowHttp: boolean): URL {
  const url = URL.parse(text)
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (!isPlain || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    const example = 'such as https://apps.example.org or http://127.0.0.1:8080'
    throw new CommandError('usage', `"${text}" is not the URL of a host. Use a URL without a path, ${example}.`)
  }
  if (url.protocol === 'https:' || allowHttp || isLoopback(url.hostname)) return url
  const advice = 'Use https, or add --allow-http to send them anyway.'
  throw new CommandError('usage', `Tokens and passwords would be sent to ${url.host} unencrypted. ${advice}`)
}
