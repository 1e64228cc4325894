import { SOLHOST } from '../../../base/program/program-name.ts'
import { CommandError, command } from '../../../base/terminal/command.ts'
import { jsonText, printable } from '../../../base/terminal/terminal.ts'
import { HOST_OPTIONS, USERS_NOTES } from '../../credentials.ts'
import { askNewPassword, makePassword, PASSWORD_OPTION } from '../../new-password.ts'
import { openUserDirectory, permissionsText, readPermissions } from '../../user-directory.ts'

export const usersSetCommand = command({
  summary: 'change a user: permissions, e-mail, password, or whether he may sign in',
  arguments: {
    name: { what: 'the user name' },
    url: { what: 'the address of the host, such as https://apps.example.org' },
  },
  options: {
    permissions: {
      type: 'string',
      value: '<list>',
      what: 'all that the user shall have, such as Users,Sales@crm; "" for none',
    },
    email: { type: 'string', value: '<address>', what: 'the e-mail address; "" for none' },
    'display-name': { type: 'string', value: '<text>', what: 'the name that people read; "" for none' },
    rename: { type: 'string', value: '<name>', what: 'another user name' },
    enable: { type: 'boolean', what: 'the user may sign in again' },
    disable: { type: 'boolean', what: 'the user may not sign in, and is signed out' },
    'new-password': { type: 'boolean', what: 'make a password and show it once' },
    'ask-password': { ...PASSWORD_OPTION['ask-password'], what: 'ask for the password, or take SOLHOST_NEW_PASSWORD' },
    ...HOST_OPTIONS,
    json: { type: 'boolean', what: 'one JSON object instead of text' },
  },
  notes: () => `What is not named stays as it is. A new password, --disable and a permission less sign the user out; a
new password has to be changed at the next sign-in.

${USERS_NOTES}`,
  async run({ arguments: { name, url }, options }, terminal) {
    const { json = false } = options
    const changes = changesOf(options)
    const isAsked = options['ask-password'] === true
    const isMade = options['new-password'] === true
    if (isAsked && isMade) throw wrongUse('--new-password and --ask-password exclude each other')
    if (Object.keys(changes).length === 0 && !isAsked && !isMade) throw wrongUse('there is nothing to change')
    const directory = await openUserDirectory(url, options, terminal)
    const { uid } = await directory.find(name)
    const password = isMade ? makePassword() : isAsked ? await askNewPassword(printable(name), terminal) : undefined
    const user = await directory.change(uid, { ...changes, ...(password === undefined ? {} : { password }) })
    if (json) {
      terminal.out(jsonText({ ok: true, user, ...(isMade ? { password } : {}) }))
      return 'done'
    }
    const shown = isMade ? `  password     ${password}   (shown this once)\n` : ''
    terminal.out(
      `${terminal.styled('green', printable(user.username))} is changed.\n${shown}` +
        `  state        ${user.enabled ? 'enabled' : 'disabled'}\n` +
        `  permissions  ${printable(permissionsText(user.permissions))}\n` +
        `Next: ${SOLHOST} users list ${directory.url.origin}\n`,
    )
    return 'done'
  },
})

type Given = {
  readonly permissions?: string
  readonly email?: string
  readonly 'display-name'?: string
  readonly rename?: string
  readonly enable?: boolean
  readonly disable?: boolean
}

function changesOf({ permissions, email, 'display-name': displayName, rename, enable, disable }: Given): object {
  if (enable === true && disable === true) throw wrongUse('--enable and --disable exclude each other')
  return {
    ...(permissions === undefined ? {} : { permissions: readPermissions(permissions) }),
    ...(email === undefined ? {} : { email: email || null }),
    ...(displayName === undefined ? {} : { displayName: displayName || null }),
    ...(rename === undefined ? {} : { username: rename }),
    ...(enable === true || disable === true ? { enabled: enable === true } : {}),
  }
}

function wrongUse(problem: string): CommandError {
  return new CommandError('usage', `solhost users set: ${problem}.\n"${SOLHOST} help users set" shows how to use it.`)
}
