import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SOLHOST } from '../../base/program/program-name.ts'
import { shellWord } from '../../base/program/shell-word.ts'
import { CommandError, command } from '../../base/terminal/command.ts'
import { readSolutionFolder, writeOwnFile } from '../solution-folder.ts'

const FILE = 'media/login.html'

export const loginTemplateCommand = command({
  summary: 'write the default login page to media/login.html, so that you can change it',
  arguments: { folder: { what: 'folder that contains solution.json', default: '.' } },
  options: { force: { type: 'boolean', what: 'replace an existing login.html' } },
  notes: () => 'docs/login-template.md describes what a login page needs and lists the placeholders.\n',
  async run({ arguments: { folder: shown }, options: { force = false } }, terminal) {
    const folder = readSolutionFolder(shown)
    if (existsSync(join(folder.path, FILE)) && !force) {
      throw new CommandError('failed', `${join(shown, FILE)} already exists. Add --force to replace it.`)
    }
    const { defaultLoginTemplate } = await import('../../base/web/pages.ts')
    writeOwnFile(folder.path, FILE, defaultLoginTemplate())
    terminal.out(`Wrote ${join(shown, FILE)}, the default login page with its placeholders.\n${noteOf(folder.files)}`)
    terminal.out(`Next: change the page, then run ${SOLHOST} check ${shellWord(shown)}\n`)
    return 'done'
  },
})

/**
 * Returns a note if the solution doesn't require a sign-in, because users then don't see a login page; otherwise ''.
 */
function noteOf(files: ReadonlyMap<string, Buffer>): string {
  const isOpen = /"authenticator"\s*:\s*"NONE"/.test(files.get('solution.json')?.toString('utf8') ?? '')
  if (!isOpen) return ''
  return 'Nobody sees the page yet, because the solution does not require a sign-in. Set "authenticator" to "DEFAULT" in solution.json.\n'
}
