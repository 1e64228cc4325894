import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { counted } from '../../base/program/counted.ts'
import { SOLHOST } from '../../base/program/program-name.ts'
import { shellWord } from '../../base/program/shell-word.ts'
import { CommandError, command } from '../../base/terminal/command.ts'
import { printable } from '../../base/terminal/terminal.ts'
import { MANIFEST } from '../../runtime/bundle/layout.ts'
import { createLimits } from '../../runtime/limits.ts'
import { authorization, HOST_NOTES, HOST_OPTIONS, HOST_URL, readHostAddress } from '../credentials.ts'
import { contentOf, readDeployed, writeDeployed } from '../deployed.ts'
import { createHostApi } from '../host-api.ts'
import { readActive } from '../host-solution.ts'
import { refuse } from '../refusals.ts'
import { isLeftOut, readSolutionFolder, refuseLink, type SolutionFolder, writeOwnFile } from '../solution-folder.ts'

const limits = createLimits()
/** The default folder in help texts: a folder with the solution's name. */
const NAMED = '<name>'

export const pullCommand = command({
  summary: 'download a solution’s active version into a folder',
  arguments: {
    name: { what: 'name of the solution' },
    url: HOST_URL,
    folder: { what: 'folder to write to', default: NAMED },
  },
  options: {
    ...HOST_OPTIONS,
    over: { type: 'boolean', what: 'overwrite files in the folder even if their changes were never deployed' },
  },
  notes: () => `${HOST_NOTES}
The command does not change files that bundles leave out, such as tests. If you have changed any other file in the
folder since the last deploy or pull, it writes nothing unless you add --over.
`,
  async run({ arguments: { name, url: address, folder: given }, options }, terminal) {
    const url = readHostAddress(address, options['allow-http'] === true)
    const shown = given === NAMED ? name : given
    const before = readTarget(shown, name)
    const api = createHostApi(url, await authorization(options.user, terminal))
    const active = await readActive(api, url, name)
    if (active === null) {
      const advice = `Upload one with "${SOLHOST} deploy", or activate one on the solution’s "Versions" page.`
      throw new CommandError('failed', `${name} has no active version on ${url.origin}. ${advice}`)
    }
    const files = await download(api, url, name, active.sha256)
    if (options.over !== true && before !== null) refuseUnsaved(before, files, url, name, shown)
    const path = resolve(shown)
    const removed = [...(before?.files.keys() ?? [])].filter((file) => !files.has(file))
    for (const file of files.keys()) refuseLink(path, file)
    for (const [file, content] of files) writeOwnFile(path, file, content)
    for (const file of removed) rmSync(join(path, file))
    writeDeployed(path, url, name, { ...active, content: contentOf(files) })
    terminal.out(`Downloaded ${printable(`${name} ${active.version}`)} to ${shown}: ${counted(files.size, 'file')}.\n`)
    if (removed.length > 0)
      terminal.out(`Removed ${counted(removed.length, 'file')} that this version does not contain.\n`)
    terminal.out(`Next: ${SOLHOST} dev ${shellWord(shown)}\n`)
    return 'done'
  },
})

/**
 * @returns null if the folder does not exist or is empty
 * @throws CommandError if it contains anything but this solution
 */
function readTarget(shown: string, name: string): SolutionFolder | null {
  const path = resolve(shown)
  if (!existsSync(path)) return null
  if (!existsSync(join(path, MANIFEST))) {
    if (readdirSync(path).length === 0) return null
    throw new CommandError(
      'usage',
      `The folder "${shown}" is not empty and contains no ${MANIFEST}. Choose another folder, or empty this one.`,
    )
  }
  const folder = readSolutionFolder(shown)
  const found = nameIn(folder.files.get(MANIFEST))
  if (found === name) return folder
  throw new CommandError(
    'usage',
    found === null
      ? `The folder "${shown}" contains a ${MANIFEST} that is invalid or has no name. Fix it, or choose another folder.`
      : `The folder "${shown}" contains another solution ("${printable(found)}"). Choose another folder.`,
  )
}

function nameIn(manifest: Buffer | undefined): string | null {
  try {
    const { name } = JSON.parse(manifest?.toString('utf8') ?? '') as { name?: unknown }
    return typeof name === 'string' ? name : null
  } catch {
    return null
  }
}

/**
 * Downloads the files of a version, by name. Leaves out files that the author's tools would run. No name points outside
 * the folder, even if the host is malicious.
 */
async function download(api: ReturnType<typeof createHostApi>, url: URL, name: string, sha256: string) {
  const pieces: Buffer[] = []
  let size = 0
  const path = `/admin/api/solutions/${encodeURIComponent(name)}/versions/${sha256}/bundle`
  const answer = await api.download(path, 'application/zip', async (piece) => {
    size += piece.length
    if (size > limits.BUNDLE_SIZE)
      throw new CommandError(
        'failed',
        `The bundle for ${name} is larger than ${limits.BUNDLE_SIZE} bytes, the limit for "pull". Nothing was written. Download it from the solution’s "Versions" page instead.`,
      )
    pieces.push(piece)
  })
  if (answer !== null) refuse(answer, url, name)
  const { readBundle } = await import('../../runtime/bundle/read-bundle.ts')
  const { unpackBundle } = await import('../../runtime/bundle/unpack-bundle.ts')
  const packed = Buffer.concat(pieces)
  // `readBundle` also rejects bundles with file names such as "../x".
  const { bundle } = await readBundle(packed, limits)
  if (bundle === null || bundle.manifest.name !== name || bundle.sha256 !== sha256)
    throw new CommandError(
      'failed',
      `${url.origin} sent an invalid bundle for ${name}. Nothing was written. Try again, or ask the operator.`,
    )
  return unpackBundle(
    packed,
    limits,
    (file) => !isLeftOut(file) && !file.split('/').some((part) => part.startsWith('.')),
  )
}

/** @throws CommandError if the folder has changes that were never deployed, which the download would overwrite */
function refuseUnsaved(
  before: SolutionFolder,
  files: ReadonlyMap<string, Uint8Array>,
  url: URL,
  name: string,
  shown: string,
): void {
  const content = contentOf(before.files)
  if (content === contentOf(files) || content === readDeployed(before.path, url, name)?.content) return
  const differing = [...before.files].filter(([file, bytes]) => !bytes.equals(files.get(file) ?? Buffer.alloc(0)))
  const names = differing.slice(0, 10).map(([file]) => `  ${printable(file)}\n`)
  const more = differing.length > names.length ? `  and ${differing.length - names.length} more\n` : ''
  throw new CommandError(
    'failed',
    `The folder "${shown}" has changes that were never deployed to ${url.origin}. These files differ:\n${names.join('')}${more}` +
      'Nothing was written. Next: choose another folder, or add --over to overwrite these changes.',
  )
}
