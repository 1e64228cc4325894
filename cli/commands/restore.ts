import { SOLHOST } from '../../base/program/program-name.ts'
import { CommandError, command } from '../../base/terminal/command.ts'
import { partProgress } from '../../base/terminal/part-progress.ts'
import { whyNot } from '../../base/terminal/run-service.ts'
import { jsonText } from '../../base/terminal/terminal.ts'
import { readSettings } from '../../host/config/settings.ts'
import { countsOf, textOf } from './backup.ts'

export const restoreCommand = command({
  summary: 'put a platform back from a backup, all of it or nothing; no host may run meanwhile',
  arguments: { file: { what: 'a file that "solhost backup" wrote' } },
  options: {
    replace: { type: 'boolean', what: 'take the place of the platform that is there' },
    force: { type: 'boolean', what: 'go on although others are connected to the database on its server' },
    json: { type: 'boolean', what: 'one JSON object instead of text' },
  },
  notes:
    () => `It reads the same environment properties as "solhost start", and writes into PLATFORM_HOME and into the database that
they name, whatever kind the backup is of. The whole backup is checked before anything is changed. With --replace files
that are there go to a folder "replaced-..." beside them; rows of a database on a server are removed for good.
`,
  async run({ arguments: { file }, options: { replace = false, force = false, json = false } }, terminal) {
    const { restorePlatform } = await import('../../base/backup/restore.ts')
    const progress = partProgress(terminal)
    try {
      const settings = readSettings(terminal.environment)
      const { manifest, replaced } = await restorePlatform({ settings, file, replace, force, onPart: progress.show })
      progress.end()
      const { createdAt, solhost, schema } = manifest
      const counts = countsOf(manifest.parts)
      if (json) {
        terminal.out(jsonText({ ok: true, file, createdAt, solhost, schema, ...counts, replaced }))
        return 'done'
      }
      terminal.out(`The platform of ${createdAt} (Solhost ${solhost}) is back: ${textOf(counts)}.\n`)
      if (replaced !== null) terminal.out(`What was there before lies in ${replaced}; remove it when all is well.\n`)
      terminal.out(
        'Sessions and remembered logins of that time are valid again, unless they have ended by their age.\n',
      )
      terminal.out(`Next: ${SOLHOST} start\n`)
      return 'done'
    } catch (error) {
      progress.end()
      throw new CommandError('failed', whyNot(error), { cause: error })
    }
  },
})
