import { SOLHOST } from '../../../base/program/program-name.ts'
import { CommandError, command, JSON_OPTION } from '../../../base/terminal/command.ts'
import { jsonText, printable } from '../../../base/terminal/terminal.ts'
import { HOST_OPTIONS, HOST_URL, USERS_NOTES } from '../../credentials.ts'
import { askNewPassword, makePassword, PASSWORD_OPTION } from '../../new-password.ts'
import { openUserDirectory, permissionsText, readPermissions } from '../../user-directory.ts'

export const usersSetCommand = command({
  summary: 'change a user’s names, email address, permissions or password; enable or disable a user',
  arguments: {
    name: { what: 'username' },
    url: HOST_URL,
  },
  options: {
    permissions: {
      type: 'string',
      value: '<list>',
      what: 'replace all permissions with this list, such as Users,Sales@crm; "" for none',
    },
    email: { type: 'string', value: '<address>', what: 'email address; "" for none' },
    'display-name': { type: 'string', value: '<text>', what: 'display name; "" for none' },
    rename: { type: 'string', value: '<name>', what: 'new username' },
    enable: { type: 'boolean', what: 'allow the user to sign in again' },
    disable: { type: 'boolean', what: 'sign the user out and block sign-ins' },
    'new-password': { type: 'boolean', what: 'generate a password and show it once' },
    'ask-password': {
      ...PASSWORD_OPTION['ask-password'],
      what: 'set the password at a prompt or with SOLHOST_NEW_PASSWORD',
    },
    ...HOST_OPTIONS,
    ...JSON_OPTION,
  },
  notes:
    () => `The command changes only what you specify. Setting a password, disabling the user or removing a permission
signs the user out. After you set a password, the user must change it at the next sign-in.

${USERS_NOTES}`,
  async run({ arguments: { name, url }, options }, terminal) {
    const { json = false } = options
    const changes = changesOf(options)
    const isAsked = options['ask-password'] === true
    const isMade = options['new-password'] === true
    if (isAsked && isMade) throw wrongUse('use either --new-password or --ask-password, not both')
    if (Object.keys(changes).length === 0 && !isAsked && !isMade)
      throw wrongUse('no change was specified; add at least one option')
    const directory = await openUserDirectory(url, options, terminal)
    const { uid } = await directory.find(name)
    const password = isMade ? makePassword() : isAsked ? await askNewPassword(printable(name), terminal) : undefined
    const user = await directory.change(uid, { ...changes, ...(password === undefined ? {} : { password }) })
    if (json) {
      terminal.out(jsonText({ ok: true, user, ...(isMade ? { password } : {}) }))
      return 'done'
    }
    const shown = isMade ? `  password     ${password}   (shown only once)\n` : ''
    terminal.out(
      `Changed ${terminal.styled('green', printable(user.username))}.\n${shown}` +
        `  state        ${user.enabled ? 'enabled' : 'disabled'}\n` +
        `  permissions  ${printable(permissionsText(user.permissions))}\n` +
        `Next: ${SOLHOST} users list ${directory.words}\n`,
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
  if (enable === true && disable === true) throw wrongUse('use either --enable or --disable, not both')
  return {
    ...(permissions === undefined ? {} : { permissions: readPermissions(permissions) }),
    ...(email === undefined ? {} : { email: email || null }),
    ...(displayName === undefined ? {} : { displayName: displayName || null }),
    ...(rename === undefined ? {} : { username: rename }),
    ...(enable === true || disable === true ? { enabled: enable === true } : {}),
  }
}

function wrongUse(problem: string): CommandError {
  return new CommandError('usage', `solhost users set: ${problem}.\nRun "${SOLHOST} help users set" for usage.`)
}
