import { existsSync } from 'node:fs'
import { SOLHOST } from '../../base/program/program-name.ts'
import { shellWord } from '../../base/program/shell-word.ts'
import { version } from '../../base/program/version.ts'
import { CommandError, command, JSON_OPTION } from '../../base/terminal/command.ts'
import { partProgress } from '../../base/terminal/part-progress.ts'
import { whyNot } from '../../base/terminal/run-service.ts'
import { jsonText } from '../../base/terminal/terminal.ts'
import { readSettings } from '../../host/config/settings.ts'

export const backupCommand = command({
  summary: 'back up the whole platform into one file; the host can keep running',
  arguments: { file: { what: 'file to create, such as backup.zip' } },
  options: {
    'without-key': { type: 'boolean', what: 'leave out the platform’s key; store it separately' },
    ...JSON_OPTION,
  },
  notes:
    () => `Run this command on the host’s machine, with the same environment variables as "solhost start". The backup
contains the tables of the platform's database. From PLATFORM_HOME, it contains the solutions' embedded databases, the
operator's plugins, and the platform's key if it is stored there. The file contains secrets, so only its owner can read
it (mode 0600).
`,
  async run({ arguments: { file }, options }, terminal) {
    const { json = false, 'without-key': withoutKey = false } = options
    const { backUpPlatform } = await import('../../base/backup/backup.ts')
    const progress = partProgress(terminal)
    try {
      const settings = readSettings(terminal.environment)
      const onPart = (name: string) => progress.show('reading', name)
      const report = await backUpPlatform({ settings, file, withKey: !withoutKey, version, onPart })
      progress.end()
      const { manifest, size, key, skipped } = report
      const counts = countsOf(manifest.parts)
      if (json) {
        const { createdAt, kind, schema } = manifest
        terminal.out(jsonText({ ok: true, file, bytes: size, createdAt, kind, schema, ...counts, key, skipped }))
        return 'done'
      }
      terminal.out(`${file}: ${textOf(counts)}, ${size} bytes\n`)
      for (const path of skipped) terminal.out(`Skipped ${path}, because it is not a regular file.\n`)
      terminal.out(`${KEY_TEXTS[key]}\n`)
      const store = existsSync('/.dockerenv') ? 'copy the file out of the container and store it' : 'store the file'
      terminal.out(
        `Next: ${store} where nobody else can read it. To restore it, run "${SOLHOST} restore ${shellWord(file)}".\n`,
      )
      return 'done'
    } catch (error) {
      progress.end()
      throw new CommandError('failed', whyNot(error), { cause: error })
    }
  },
})

const KEY_TEXTS = {
  'in the backup': 'The backup contains secrets and the key that decrypts them. Anyone who has the file can read them.',
  'left out':
    'The backup does not contain the platform’s key. Back up the file platform-key in PLATFORM_HOME separately.',
  PLATFORM_KEY:
    'The backup does not contain PLATFORM_KEY. Store the key separately: without it, the secrets cannot be read.',
}

type Counts = { readonly rows: number; readonly solutionDatabases: number; readonly pluginFiles: number }

export function countsOf(parts: Readonly<Record<string, { readonly rows?: number | undefined }>>): Counts {
  const names = Object.keys(parts)
  return {
    rows: Object.values(parts).reduce((sum, { rows = 0 }) => sum + rows, 0),
    solutionDatabases: names.filter((name) => name.startsWith('databases/')).length,
    pluginFiles: names.filter((name) => name.startsWith('plugins/')).length,
  }
}

export function textOf({ rows, solutionDatabases, pluginFiles }: Counts): string {
  const of = (count: number, one: string, more: string) => `${count} ${count === 1 ? one : more}`
  return [
    of(rows, 'row', 'rows'),
    of(solutionDatabases, 'solution database', 'solution databases'),
    of(pluginFiles, 'plugin file', 'plugin files'),
  ].join(', ')
}
