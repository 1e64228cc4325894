import { SOLHOST } from '../../../base/program/program-name.ts'
import { command, JSON_OPTION } from '../../../base/terminal/command.ts'
import { jsonText, printable } from '../../../base/terminal/terminal.ts'
import { HOST_OPTIONS, HOST_URL, USERS_NOTES } from '../../credentials.ts'
import { openUserDirectory } from '../../user-directory.ts'

export const usersRemoveCommand = command({
  summary: 'remove a user and sign them out',
  arguments: {
    name: { what: 'username' },
    url: HOST_URL,
  },
  options: {
    erase: { type: 'boolean', what: 'also erase the username from the audit log' },
    ...HOST_OPTIONS,
    ...JSON_OPTION,
  },
  notes: () => `This cannot be undone. To block a user without removing them, run "users set --disable".

${USERS_NOTES}`,
  async run({ arguments: { name, url }, options }, terminal) {
    const { erase = false, json = false } = options
    const directory = await openUserDirectory(url, options, terminal)
    const { uid, username } = await directory.find(name)
    await directory.remove(uid, erase)
    if (json) terminal.out(jsonText({ ok: true, uid, username, erased: erase }))
    else {
      const traces = erase ? ' and erased the username from the audit log' : ''
      terminal.out(`Removed ${printable(username)}${traces}.\nNext: ${SOLHOST} users list ${directory.words}\n`)
    }
    return 'done'
  },
})
