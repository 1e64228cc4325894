import { open, rm } from 'node:fs/promises'
import { CommandError, command } from '../../../base/terminal/command.ts'
import { HOST_OPTIONS, HOST_URL, USERS_NOTES } from '../../credentials.ts'
import { refuseUsers } from '../../refusals.ts'
import { openUserDirectory } from '../../user-directory.ts'

export const usersExportCommand = command({
  summary: 'write all users as CSV, without passwords',
  arguments: { url: HOST_URL },
  options: {
    output: { type: 'string', short: 'o', value: '<file>', what: 'file to create (default: standard output)' },
    ...HOST_OPTIONS,
  },
  notes: () => `"users import" reads this file. The host records the export in its audit log.

${USERS_NOTES}`,
  async run({ arguments: { url }, options }, terminal) {
    const { output } = options
    const directory = await openUserDirectory(url, options, terminal)
    const write = (take: (piece: Buffer) => Promise<void>) =>
      directory.api.download('/admin/api/users.csv', 'text/csv', take)
    if (output === undefined) {
      const decoder = new TextDecoder()
      const answer = await write(async (piece) => terminal.out(decoder.decode(piece, { stream: true })))
      if (answer !== null) refuseUsers(answer, directory.url)
      return 'done'
    }
    const file = await create(output)
    let isWhole = false
    try {
      const answer = await write(async (piece) => void (await file.write(piece)))
      if (answer !== null) refuseUsers(answer, directory.url)
      isWhole = true
    } finally {
      await file.close()
      if (!isWhole) await rm(output)
    }
    terminal.out(`Wrote ${output}.\nNext: store the file where nobody else can read it.\n`)
    return 'done'
  },
})

/** Creates the file, readable only by its owner. Never overwrites a file. */
async function create(path: string) {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    throw new CommandError(
      'failed',
      `Cannot create ${path}: ${(error as Error).message}. Choose another file with --output.`,
      { cause: error },
    )
  }
}
