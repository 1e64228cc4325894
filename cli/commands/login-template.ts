import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SOLHOST } from '../../base/program/program-name.ts'
import { shellWord } from '../../base/program/shell-word.ts'
import { CommandError, command } from '../../base/terminal/command.ts'
import { readSolutionFolder, writeOwnFile } from '../solution-folder.ts'

const FILE = 'media/login.html'

export const loginTemplateCommand = command({
  summary: 'write media/login.html, a login page to change, from the default one',
  arguments: { folder: { what: 'the folder of the solution', default: '.' } },
  options: { force: { type: 'boolean', what: 'replace a login.html that is there' } },
  notes: () => 'docs/login-template.md says what a login page needs, and which placeholders there are.\n',
  async run({ arguments: { folder: shown }, options: { force = false } }, terminal) {
    const folder = readSolutionFolder(shown)
    if (existsSync(join(folder.path, FILE)) && !force) {
      throw new CommandError('failed', `${join(shown, FILE)} is there already. "--force" replaces it.`)
    }
    const { defaultLoginTemplate } = await import('../../base/web/pages.ts')
    writeOwnFile(folder.path, FILE, defaultLoginTemplate())
    terminal.out(
      `${join(shown, FILE)} is written: the default login page, with its placeholders.\n${noteOf(folder.files)}`,
    )
    terminal.out(`Next: change it, then ${SOLHOST} check ${shellWord(shown)}\n`)
    return 'done'
  },
})

/** Warns about a solution that is open to everyone, since it has no login page. */
function noteOf(files: ReadonlyMap<string, Buffer>): string {
  const isOpen = /"authenticator"\s*:\s*"NONE"/.test(files.get('solution.json')?.toString('utf8') ?? '')
  if (!isOpen) return ''
  return 'The solution is open to everybody, so nobody sees it yet: set "authenticator" in solution.json to "DEFAULT".\n'
}
