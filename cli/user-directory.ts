import { usernameKey } from '../base/accounts/username.ts'
import { SOLHOST } from '../base/program/program-name.ts'
import { CommandError } from '../base/terminal/command.ts'
import { printable, type Terminal } from '../base/terminal/terminal.ts'
import { readPermissionCell, writePermissionCell } from '../host/http/csv-cells.ts'
import { z } from '../runtime/zod.ts'
import { authorization, type HostOptions, hostWords, readHostAddress } from './credentials.ts'
import { type ApiContent, createHostApi, type HostApi } from './host-api.ts'
import { refuseUsers } from './refusals.ts'

/** A user as the API returns it. */
export const User = z.object({
  uid: z.string(),
  username: z.string(),
  displayName: z.string().nullable(),
  email: z.string().nullable(),
  enabled: z.boolean(),
  mustChangePassword: z.boolean(),
  permissions: z.array(z.union([z.string(), z.object({ name: z.string(), solution: z.string() })])),
  /** The number of second factors. Older hosts don't report it. */
  factors: z.int().min(0).default(0),
  /**
   * `emailVerifiedAt` is when the user verified the address in `email`. `locale` is the language of emails to the user.
   * Older hosts don't report these.
   */
  emailVerifiedAt: z.int().min(0).nullable().default(null),
  locale: z.string().nullable().default(null),
  /** The directory that has the user's password. Older hosts don't report it. */
  directory: z.string().nullable().default(null),
})
export type User = z.infer<typeof User>

const Page = z.object({ items: z.array(User), next: z.string().optional() })

const USERS = '/admin/api/users'
const PAGE = 1000

/** The users table of a running host, accessed through its API. */
export interface UserDirectory {
  readonly api: HostApi
  readonly url: URL
  /** The URL and the options, for commands that messages suggest. */
  readonly words: string
  /**
   * Lists users, sorted by name.
   * @param search part of the name, full name, email address or uid; if empty, all users
   */
  list(search: string): AsyncIterable<User>
  /** @throws CommandError if there is no such user */
  find(username: string): Promise<User>
  create(user: object): Promise<User>
  change(uid: string, input: object): Promise<User>
  /** @param traces whether to remove the name from the audit log too */
  remove(uid: string, traces: boolean): Promise<void>
}

export async function openUserDirectory(
  address: string,
  options: HostOptions,
  terminal: Terminal,
): Promise<UserDirectory> {
  const url = readHostAddress(address, options['allow-http'] === true)
  const words = hostWords(url, options)
  const api = createHostApi(url, await authorization(options.user, terminal))

  async function* list(search: string): AsyncGenerator<User> {
    let after: string | undefined
    do {
      const query = new URLSearchParams({ limit: String(PAGE), ...(search === '' ? {} : { search }) })
      if (after !== undefined) query.set('after', after)
      const answer = await api.get(`${USERS}?${query}`)
      const page = Page.safeParse(answer.body)
      if (answer.status !== 200 || !page.success) refuseUsers(answer, url)
      yield* page.data.items
      after = page.data.next
    } while (after !== undefined)
  }

  async function ask(method: 'POST' | 'PATCH', path: string, body: object): Promise<User> {
    const answer = await api.send(method, path, jsonContent(body))
    const user = User.safeParse(answer.body)
    if (answer.status > 201 || !user.success) refuseUsers(answer, url)
    return user.data
  }

  return {
    api,
    url,
    words,
    list,
    async find(username) {
      const key = usernameKey(username)
      // The user with exactly this name is usually the first with this prefix, but sort orders differ between
      // databases.
      for await (const user of list(username)) if (usernameKey(user.username) === key) return user
      const text = `The host has no user "${printable(username)}".`
      throw new CommandError('failed', `${text} Run "${SOLHOST} users list ${words}" to see the users.`)
    },
    create: (user) => ask('POST', USERS, user),
    change: (uid, input) => ask('PATCH', `${USERS}/${encodeURIComponent(uid)}`, input),
    async remove(uid, traces) {
      const path = `${USERS}/${encodeURIComponent(uid)}`
      const answer = await (traces ? api.send('POST', `${path}/erase`, null) : api.send('DELETE', path, null))
      if (answer.status !== 204) refuseUsers(answer, url)
    },
  }
}

function jsonContent(body: object): ApiContent {
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) }
}

/**
 * Parses a list such as `Users,Sales@crm`, where the second permission applies only to the solution `crm`. Names that
 * contain a comma can only be imported from a file.
 */
export function readPermissions(text: string): User['permissions'] {
  return readPermissionCell(text.replaceAll(',', ';'))
}

/** Quotes names that contain a comma, so that one permission doesn't look like several. */
export function permissionsText(permissions: User['permissions']): string {
  if (permissions.length === 0) return '-'
  const names = permissions.map((permission) => writePermissionCell([permission]))
  return names.map((name) => (name.includes(',') ? `"${name}"` : name)).join(',')
}
