import { readFileSync } from 'node:fs'
import { SOLHOST } from '../../../base/program/program-name.ts'
import { shellWord } from '../../../base/program/shell-word.ts'
import { CommandError, command, type Exit, JSON_OPTION } from '../../../base/terminal/command.ts'
import { jsonText, printable, type Terminal } from '../../../base/terminal/terminal.ts'
import { z } from '../../../runtime/zod.ts'
import { HOST_OPTIONS, HOST_URL, USERS_NOTES } from '../../credentials.ts'
import { refuseUsers } from '../../refusals.ts'
import { openUserDirectory } from '../../user-directory.ts'

const Imported = z.object({
  created: z.int(),
  changed: z.int(),
  unchanged: z.int(),
  /** Older hosts don't report these two. */
  createdWithoutPassword: z.int().default(0),
  unlistedPermissions: z.array(z.string()).default([]),
  dryRun: z.boolean(),
})
type Imported = z.infer<typeof Imported>
const Fault = z.object({ line: z.int(), field: z.string().nullable(), message: z.string() })
const Refused = z.object({ faults: z.array(Fault).min(1) })
type Refused = z.infer<typeof Refused>

export const usersImportCommand = command({
  summary: 'add and change users from a CSV file; if any line has an error, nothing is imported',
  arguments: {
    file: { what: 'CSV file in the format that "users export" writes' },
    url: HOST_URL,
  },
  options: {
    'dry-run': { type: 'boolean', what: 'check the file and count the changes, but import nothing' },
    ...HOST_OPTIONS,
    ...JSON_OPTION,
  },
  notes: () => `Columns: username, displayName, email, enabled, permissions (Users;Sales@crm), password. Each line
adds or changes the user with that username. Other users, and properties without a column, stay unchanged.

${USERS_NOTES}`,
  async run({ arguments: { file, url }, options }, terminal) {
    const { 'dry-run': dryRun = false, json = false } = options
    const bytes = read(file)
    const directory = await openUserDirectory(url, options, terminal)
    const path = `/admin/api/users.csv${dryRun ? '?dry-run=true' : ''}`
    const answer = await directory.api.send('POST', path, { type: 'text/csv', bytes })
    const refused = Refused.safeParse(answer.body)
    if (refused.success) return tellFaults(file, refused.data, json, terminal)
    const imported = Imported.safeParse(answer.body)
    if (answer.status !== 200 || !imported.success) refuseUsers(answer, directory.url)
    const { created, changed, unchanged } = imported.data
    if (json) terminal.out(jsonText({ ok: true, ...imported.data }))
    else {
      const counts = dryRun
        ? `Dry run: ${created} to add, ${changed} to change, ${unchanged} unchanged`
        : `${created} added, ${changed} changed, ${unchanged} unchanged`
      const again = `${SOLHOST} users import ${shellWord(file)} ${directory.words}`
      const next = dryRun ? again : `${SOLHOST} users list ${directory.words}`
      terminal.out(`${counts}.\n${withoutPasswordText(imported.data)}${unlistedText(imported.data)}Next: ${next}\n`)
    }
    return 'done'
  },
})

function withoutPasswordText({ createdWithoutPassword: count, dryRun }: Imported): string {
  if (count === 0) return ''
  const [users, them] = count === 1 ? ['1 new user has', 'the user'] : [`${count} new users have`, 'them']
  const invite = dryRun ? 'After the import, invite' : 'Invite'
  return `${users} no password and can’t sign in. ${invite} ${them} on the admin pages (the user’s page, "Link for the user"; see docs/self-service.md), or set a password with "users set".\n`
}

function unlistedText({ unlistedPermissions: permissions }: Imported): string {
  if (permissions.length === 0) return ''
  const names = permissions.map((name) => `"${printable(name)}"`).join(', ')
  return `No solution lists ${permissions.length === 1 ? 'the permission' : 'the permissions'} ${names}. Check the spelling. In the file, ";" separates permissions.\n`
}

function tellFaults(file: string, { faults }: Refused, json: boolean, terminal: Terminal): Exit {
  if (json) terminal.out(jsonText({ ok: false, faults }))
  else {
    const lines = faults.map(({ line, message }) => {
      const place = terminal.styledError('bold', `${file}:${line}`)
      return `${place}  ${printable(message)}\n`
    })
    terminal.err(`${lines.join('')}Nothing was imported. Next: fix these lines, then run the command again.\n`)
  }
  return 'failed'
}

function read(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new CommandError(
      'usage',
      `Cannot read ${file}: ${(error as Error).message}. Check the path and its permissions.`,
      { cause: error },
    )
  }
}
