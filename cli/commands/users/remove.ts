import { SOLHOST } from '../../../base/program/program-name.ts'
import { command } from '../../../base/terminal/command.ts'
import { jsonText, printable } from '../../../base/terminal/terminal.ts'
import { HOST_OPTIONS, USERS_NOTES } from '../../credentials.ts'
import { openUserDirectory } from '../../user-directory.ts'

export const usersRemoveCommand = command({
  summary: 'remove a user, who is signed out',
  arguments: {
    name: { what: 'the user name, in full' },
    url: { what: 'the address of the host, such as https://apps.example.org' },
  },
  options: {
    erase: { type: 'boolean', what: 'take the name out of the audit too' },
    ...HOST_OPTIONS,
    json: { type: 'boolean', what: 'one JSON object instead of text' },
  },
  notes: () => `There is no way back: "users set --disable" only keeps a user out.

${USERS_NOTES}`,
  async run({ arguments: { name, url }, options }, terminal) {
    const { erase = false, json = false } = options
    const directory = await openUserDirectory(url, options, terminal)
    const { uid, username } = await directory.find(name)
    await directory.remove(uid, erase)
    if (json) terminal.out(jsonText({ ok: true, uid, username, erased: erase }))
    else {
      const traces = erase ? ' and out of the audit' : ''
      terminal.out(`${printable(username)} is removed${traces}.\nNext: ${SOLHOST} users list ${directory.url.origin}\n`)
    }
    return 'done'
  },
})
