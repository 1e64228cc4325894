import { existsSync } from 'node:fs'
import { SOLHOST } from '../../base/program/program-name.ts'
import { shellWord } from '../../base/program/shell-word.ts'
import { version } from '../../base/program/version.ts'
import { CommandError, command } from '../../base/terminal/command.ts'
import { partProgress } from '../../base/terminal/part-progress.ts'
import { whyNot } from '../../base/terminal/run-service.ts'
import { jsonText } from '../../base/terminal/terminal.ts'
import { readSettings } from '../../host/config/settings.ts'

export const backupCommand = command({
  summary: 'write the whole platform into one file; the host may go on meanwhile',
  arguments: { file: { what: 'a new file, such as backup.zip' } },
  options: {
    'without-key': { type: 'boolean', what: "leave the platform's key out, to be kept elsewhere" },
    json: { type: 'boolean', what: 'one JSON object instead of text' },
  },
  notes:
    () => `It reads the same environment properties as "solhost start", on the machine of the host. In the file are the tables
of the platform's database, of whatever kind, and of PLATFORM_HOME the embedded databases of solutions, the operator's
plugins, and the platform's key if it lies there. The file is for its owner alone (mode 0600), and holds secrets.
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
      for (const path of skipped) terminal.out(`Not in it, since it is no file: ${path}\n`)
      terminal.out(`${KEY_TEXTS[key]}\n`)
      const place = existsSync('/.dockerenv') ? ' Copy it out of the container.' : ''
      terminal.out(
        `Next: keep it where nobody else reads it.${place} "${SOLHOST} restore ${shellWord(file)}" puts it back.\n`,
      )
      return 'done'
    } catch (error) {
      progress.end()
      throw new CommandError('failed', whyNot(error), { cause: error })
    }
  },
})

const KEY_TEXTS = {
  'in the backup': 'It holds secrets and the key that they are encrypted with: who has it has all of them.',
  'left out': 'The platform’s key is not in it: keep the file platform-key of PLATFORM_HOME too, apart from this one.',
  PLATFORM_KEY:
    'PLATFORM_KEY is not in it: keep that too, apart from this file. Without it the secrets cannot be read.',
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
    of(solutionDatabases, 'database of a solution', 'databases of solutions'),
    of(pluginFiles, 'file of plugins', 'files of plugins'),
  ].join(', ')
}
