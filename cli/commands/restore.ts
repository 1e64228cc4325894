import { SOLHOST } from '../../base/program/program-name.ts'
import { CommandError, command, JSON_OPTION } from '../../base/terminal/command.ts'
import { partProgress } from '../../base/terminal/part-progress.ts'
import { whyNot } from '../../base/terminal/run-service.ts'
import { jsonText } from '../../base/terminal/terminal.ts'
import { readSettings } from '../../host/config/settings.ts'
import { countsOf, textOf } from './backup.ts'

export const restoreCommand = command({
  summary: 'restore a platform from a backup (stop all hosts first); if an error occurs, nothing is changed',
  arguments: { file: { what: 'backup file created by "solhost backup"' } },
  options: {
    replace: { type: 'boolean', what: 'replace the existing platform' },
    force: { type: 'boolean', what: 'restore even if other clients are connected to the database' },
    ...JSON_OPTION,
  },
  notes:
    () => `This command reads the same environment variables as "solhost start", and restores to the PLATFORM_HOME and the
database that they specify. The database can be of a different kind than the one that was backed up. The command checks
the whole backup before it changes anything. With --replace, it moves existing files to a folder named "replaced-..." in
PLATFORM_HOME. On a database server, it deletes existing rows.
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
      terminal.out(`Restored the platform as of ${createdAt} (Solhost ${solhost}): ${textOf(counts)}.\n`)
      if (replaced !== null)
        terminal.out(`The previous files are in ${replaced}. Delete this folder when you no longer need them.\n`)
      terminal.out('Sessions and remembered logins from the backup are valid again, unless they have expired.\n')
      terminal.out(
        'The jobs of all solutions are paused, because some runs in the backup may have finished after the backup.\n',
      )
      terminal.out(
        `Next: ${SOLHOST} start\nAfter the start, check each solution’s runs and resume its jobs:\n  ${SOLHOST} jobs runs <name> <url>\n  ${SOLHOST} jobs resume <name> <url>\n`,
      )
      return 'done'
    } catch (error) {
      progress.end()
      throw new CommandError('failed', whyNot(error), { cause: error })
    }
  },
})
