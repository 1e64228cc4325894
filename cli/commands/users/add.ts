import { SOLHOST } from '../../../base/program/program-name.ts'
import { shellWord } from '../../../base/program/shell-word.ts'
import { command, JSON_OPTION } from '../../../base/terminal/command.ts'
import { jsonText, printable } from '../../../base/terminal/terminal.ts'
import { HOST_OPTIONS, HOST_URL, USERS_NOTES } from '../../credentials.ts'
import { askNewPassword, makePassword, PASSWORD_OPTION } from '../../new-password.ts'
import { openUserDirectory, permissionsText, readPermissions, type User } from '../../user-directory.ts'

export const usersAddCommand = command({
  summary: 'add a user who must change the password at the first sign-in',
  arguments: {
    name: { what: 'username' },
    url: HOST_URL,
  },
  options: {
    permissions: {
      type: 'string',
      value: '<list>',
      what: 'permissions, such as Users,Sales@crm (Sales applies only to the solution crm)',
    },
    email: { type: 'string', value: '<address>', what: 'email address' },
    'display-name': { type: 'string', value: '<text>', what: 'display name' },
    ...PASSWORD_OPTION,
    ...HOST_OPTIONS,
    ...JSON_OPTION,
  },
  notes: () => USERS_NOTES,
  async run({ arguments: { name, url }, options }, terminal) {
    const { permissions, email, 'display-name': displayName, json = false } = options
    const isMade = options['ask-password'] !== true
    const directory = await openUserDirectory(url, options, terminal)
    const password = isMade ? makePassword() : await askNewPassword(printable(name), terminal)
    const user = await directory.create({
      username: name,
      password,
      ...(permissions === undefined ? {} : { permissions: readPermissions(permissions) }),
      ...(email === undefined ? {} : { email }),
      ...(displayName === undefined ? {} : { displayName }),
    })
    if (json) {
      terminal.out(jsonText({ ok: true, user, ...(isMade ? { password } : {}) }))
      return 'done'
    }
    const shown = isMade ? `  password     ${password}   (shown only once)\n` : ''
    terminal.out(
      `Added ${terminal.styled('green', printable(user.username))}.\n${shown}` +
        `  uid          ${printable(user.uid)}\n  permissions  ${printable(permissionsText(user.permissions))}\n` +
        next(user, directory.words),
    )
    return 'done'
  },
})

/** Suggests adding a permission, since users without one cannot sign in. */
function next({ username, permissions }: User, words: string): string {
  if (permissions.length > 0)
    return 'Next: send the user their username and password. They must choose a new password at the first sign-in.\n'
  const line = `${SOLHOST} users set ${shellWord(username)} ${words} --permissions <list>`
  return `Next: add a permission, because a user without one cannot sign in:\n  ${line}\n`
}
