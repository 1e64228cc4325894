import { basename } from 'node:path'
import { SOLHOST } from '../../base/program/program-name.ts'
import { shellWord } from '../../base/program/shell-word.ts'
import { command, type Exit, JSON_OPTION } from '../../base/terminal/command.ts'
import { jsonText, printable, type Terminal } from '../../base/terminal/terminal.ts'
import type { CheckedSolution } from '../check-solution.ts'
import { renewEditorFiles } from '../editor-files.ts'
import { countText, type Findings, findingsText } from '../findings-text.ts'
import { readSolutionFolder, type SolutionFolder } from '../solution-folder.ts'

export const checkCommand = command({
  summary: 'report all errors and warnings that an upload would report, without connecting to a host',
  arguments: { folder: { what: 'folder that contains solution.json', default: '.' } },
  options: {
    strict: { type: 'boolean', what: 'treat warnings as errors' },
    ...JSON_OPTION,
  },
  notes:
    () => `Like an upload, this command compiles and loads the scripts in a sandbox process. It uses the default limits and the
built-in plugins. It also updates existing editor files, such as solhost.d.ts.
`,
  async run({ arguments: { folder: shown }, options: { strict = false, json = false } }, terminal) {
    const folder = readSolutionFolder(shown)
    const { checkSolution } = await import('../check-solution.ts')
    const checked = await checkSolution(folder)
    const renewed = renewEditorFiles(folder)
    const isSound = checked.faults.length === 0 && (!strict || checked.warnings.length === 0)
    if (json) terminal.out(jsonText(forMachines(checked, isSound)))
    else terminal.out(forPeople(folder, checked, isSound, renewed, terminal))
    return isSound ? 'done' : 'faults'
  },
})

/** Prints the errors that prevent pack and deploy. */
export function refuseFaults({ files }: SolutionFolder, found: Findings, terminal: Terminal): Exit {
  terminal.err(findingsText(found, files, { styled: terminal.styledError }))
  terminal.err(`${countText(found)}. Next: fix the errors, then run the command again.\n`)
  return 'faults'
}

function forMachines({ manifest, sha256, packed, faults, warnings }: CheckedSolution, ok: boolean) {
  const { name = null, version = null } = manifest ?? {}
  return { ok, name, version, sha256, bytes: packed.length, faults, warnings }
}

function forPeople(
  { shown, path, files }: SolutionFolder,
  checked: CheckedSolution,
  isSound: boolean,
  renewed: readonly string[],
  terminal: Terminal,
): string {
  const { manifest } = checked
  const what = manifest === null ? printable(basename(path)) : `${manifest.name} ${manifest.version}`
  const again = `${SOLHOST} check ${shellWord(shown)}`
  const next = isSound ? `${SOLHOST} deploy ${shellWord(shown)} <url>` : `fix the problems above, then run ${again}`
  const colour = checked.faults.length > 0 ? 'red' : checked.warnings.length > 0 ? 'yellow' : 'green'
  return [
    findingsText(checked, files, terminal),
    `${what}: ${terminal.styled(colour, countText(checked))}.\n`,
    ...renewed.map((file) => `Updated ${file}.\n`),
    `Next: ${next}\n`,
  ].join('')
}
