import { writeFileSync } from 'node:fs'
import { counted } from '../../base/program/counted.ts'
import { SOLHOST } from '../../base/program/program-name.ts'
import { CommandError, command, JSON_OPTION } from '../../base/terminal/command.ts'
import { jsonText } from '../../base/terminal/terminal.ts'
import { readSolutionFolder, refuseLink } from '../solution-folder.ts'
import { refuseFaults } from './check.ts'

export const packCommand = command({
  summary: 'check a solution and pack it into a bundle',
  arguments: { folder: { what: 'folder that contains solution.json', default: '.' } },
  options: {
    output: { type: 'string', short: 'o', value: '<file>', what: 'file to write (default: <name>-<version>.zip)' },
    ...JSON_OPTION,
  },
  notes:
    () => `The same files always produce the same bytes. The bundle leaves out files and folders whose name starts with a dot,
editors' backup copies, node_modules, *.d.ts, *.test.js, *.test.ts, and these files next to solution.json:
jsconfig.json, tsconfig.json, package.json, package-lock.json, *.zip.
`,
  async run({ arguments: { folder: shown }, options: { output, json = false } }, terminal) {
    const folder = readSolutionFolder(shown)
    const { checkSolution } = await import('../check-solution.ts')
    const checked = await checkSolution(folder)
    const { manifest, packed, sha256, faults, warnings } = checked
    if (manifest === null || faults.length > 0) {
      if (json) terminal.out(jsonText({ ok: false, faults, warnings }))
      return json ? 'faults' : refuseFaults(folder, checked, terminal)
    }
    const { name, version } = manifest
    const file = output ?? `${name}-${version}.zip`
    // Never write through a link. The manifest sets the file's name, so its author may have put a link with that name
    // into the folder.
    if (output === undefined) refuseLink('.', file)
    write(file, packed)
    const bytes = packed.length
    if (json) terminal.out(jsonText({ ok: true, file, name, version, sha256, bytes, warnings }))
    else {
      const said =
        warnings.length === 0
          ? ''
          : `${counted(warnings.length, 'warning')} found. Run "${SOLHOST} check" for details.\n`
      terminal.out(
        `${file}: ${name} ${version}, ${bytes} bytes, ${counted(folder.files.size, 'file')}\nsha256 ${sha256}\n${said}`,
      )
      terminal.out(
        `Next: upload the bundle on the host’s admin pages. "${SOLHOST} deploy" packs and uploads in one step.\n`,
      )
    }
    return 'done'
  },
})

function write(file: string, content: Buffer): void {
  try {
    writeFileSync(file, content)
  } catch (error) {
    throw new CommandError(
      'failed',
      `Cannot write ${file}: ${(error as Error).message}. Choose another file with --output.`,
      { cause: error },
    )
  }
}
