import { parseArgs } from 'node:util'
import { backUp } from '../../base/backup/backup.ts'
import type { BackupManifest } from '../../base/backup/manifest.ts'
import { restore } from '../../base/backup/restore.ts'
import { counted } from '../../base/program/counted.ts'
import { shellWord } from '../../base/program/shell-word.ts'
import { version } from '../../base/program/version.ts'
import type { Exit } from '../../base/terminal/command.ts'
import { partProgress } from '../../base/terminal/part-progress.ts'
import { whyNot } from '../../base/terminal/run-service.ts'
import { printable, type Terminal } from '../../base/terminal/terminal.ts'
import { readCenterSettings } from '../config/settings.ts'
import { CONTROL_CENTER, WITHOUT_TELEMETRY } from './saved.ts'

const OPTIONS = { 'without-key': { type: 'boolean' }, 'without-telemetry': { type: 'boolean' } } as const

/**
 * `backup <file> [--without-key] [--without-telemetry]`; works while the control center is running.
 * @returns null if the arguments are invalid
 */
export async function runBackup(words: readonly string[], terminal: Terminal): Promise<Exit | null> {
  const given = read(words, OPTIONS)
  if (given === null) return null
  const { file, values } = given
  return reported(terminal, async (progress) => {
    const report = await backUp(values['without-telemetry'] === true ? WITHOUT_TELEMETRY : CONTROL_CENTER, {
      settings: readCenterSettings(process.env),
      file,
      withKey: values['without-key'] !== true,
      version,
      onPart: (name) => progress.show('reading', name),
    })
    progress.end()
    terminal.out(`${printable(file)}: ${contentOf(report.manifest)}, ${report.size} bytes\n`)
    terminal.out(`${KEY_TEXTS[report.key]}\n`)
    terminal.out(
      `Next: store the file where nobody else can read it. To restore it, run "${CONTROL_CENTER.restoreCommand} ${shellWord(file)}".\n`,
    )
  })
}

const KEY_TEXTS = {
  'in the backup': 'The backup contains secrets and the key that decrypts them. Anyone who has the file can read them.',
  'left out':
    'The backup does not contain the platform’s key. Back up the file platform-key in PLATFORM_HOME separately.',
  PLATFORM_KEY:
    'The backup does not contain PLATFORM_KEY. Store the key separately: without it, the secrets cannot be read.',
}

/**
 * `restore <file>`; requires an empty folder and an empty database.
 * @returns null if the arguments are invalid
 */
export async function runRestore(words: readonly string[], terminal: Terminal): Promise<Exit | null> {
  const given = read(words, {})
  if (given === null) return null
  const { file } = given
  return reported(terminal, async (progress) => {
    const settings = readCenterSettings(process.env)
    const onPart = progress.show
    const { manifest } = await restore(CONTROL_CENTER, { settings, file, replace: false, force: false, onPart })
    progress.end()
    const { createdAt, solhost } = manifest
    terminal.out(`Restored the control center as of ${createdAt} (Solhost ${solhost}): ${contentOf(manifest)}.\n`)
    terminal.out(
      'Tokens, members, sessions and invitations are as they were when the backup was created. If you have revoked any since then, revoke them again.\n',
    )
    terminal.out('Next: start the control center with the same PUBLIC_URL, so that its Satellites can reach it.\n')
  })
}

type Options = Readonly<Record<string, { readonly type: 'boolean' }>>
type Given = { readonly file: string; readonly values: Readonly<Record<string, unknown>> }

function read(words: readonly string[], options: Options): Given | null {
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true, strict: true })
    const [file] = positionals
    return file === undefined || file === '' || positionals.length > 1 ? null : { file, values }
  } catch {
    return null
  }
}

async function reported(
  terminal: Terminal,
  work: (progress: ReturnType<typeof partProgress>) => Promise<void>,
): Promise<Exit> {
  const progress = partProgress(terminal)
  try {
    await work(progress)
    return 'done'
  } catch (error) {
    progress.end()
    terminal.err(`${printable(whyNot(error))}\n`)
    return 'failed'
  }
}

function contentOf({ parts, schemas = {} }: BackupManifest): string {
  const rows = Object.values(parts).reduce((sum, { rows = 0 }) => sum + rows, 0)
  return `${counted(rows, 'row')}, ${Object.hasOwn(schemas, 'telemetry') ? 'with' : 'without'} telemetry`
}
