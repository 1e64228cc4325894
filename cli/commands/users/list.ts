import { SOLHOST } from '../../../base/program/program-name.ts'
import { command, JSON_OPTION } from '../../../base/terminal/command.ts'
import { jsonText, printable, type Terminal } from '../../../base/terminal/terminal.ts'
import { HOST_OPTIONS, HOST_URL, USERS_NOTES } from '../../credentials.ts'
import { openUserDirectory, permissionsText, type User } from '../../user-directory.ts'

export const usersListCommand = command({
  summary: 'list a host’s users and their permissions',
  arguments: { url: HOST_URL },
  options: {
    search: {
      type: 'string',
      value: '<text>',
      what: 'only list users whose name, email address or uid contains the text',
    },
    ...HOST_OPTIONS,
    ...JSON_OPTION,
  },
  notes: () => USERS_NOTES,
  async run({ arguments: { url }, options }, terminal) {
    const { search = '', json = false } = options
    const directory = await openUserDirectory(url, options, terminal)
    const users = await Array.fromAsync(directory.list(search))
    if (json) terminal.out(jsonText({ ok: true, users }))
    else if (users.length > 0) terminal.out(table(users, terminal))
    else terminal.out(search === '' ? 'The host has no users.\n' : `No user matches "${printable(search)}".\n`)
    if (!json) terminal.err(`Next: ${SOLHOST} users add <name> ${directory.words}\n`)
    return 'done'
  },
})

const HEAD = ['name', 'uid', 'state', 'email', 'permissions'] as const

function table(users: readonly User[], terminal: Pick<Terminal, 'styled'>): string {
  const rows = users.map((user) =>
    [user.username, user.uid, stateOf(user), user.email ?? '-', permissionsText(user.permissions)].map(cell),
  )
  const widths = HEAD.map((head, column) => Math.max(head.length, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (cells: readonly string[]) =>
    `${cells
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()}\n`
  return [terminal.styled('bold', line(HEAD).trimEnd()), '\n', ...rows.map(line)].join('')
}

function stateOf({ enabled, mustChangePassword }: User): string {
  if (!enabled) return 'disabled'
  return mustChangePassword ? 'must change password' : 'enabled'
}

/** Keeps each user on one line, whatever characters a name has. */
function cell(text: string): string {
  return printable(text).replace(/\s+/g, ' ')
}
