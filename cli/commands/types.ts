import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '../../base/program/shell-word.ts'
import { command } from '../../base/terminal/command.ts'
import { CONFIGURATION, editorFiles } from '../editor-files.ts'
import { readSolutionFolder, writeOwnFile } from '../solution-folder.ts'

export const typesCommand = command({
  summary: 'write types and schemas for editors',
  arguments: { folder: { what: 'folder that contains solution.json', default: '.' } },
  options: {},
  notes: () => `This command writes these files for editors:

  solhost.d.ts, jsconfig.json  types for the scripts, and the configuration for editors
  .solhost/                    types for tests, and schemas for solution.json and forms

"solhost init" writes the same files, and "solhost check" updates them. Use this command if your folder does not have
them yet. To validate JSON files in an editor, add a "$schema" property at the top of each file:

  solution.json    "$schema": "./.solhost/solution.schema.json"
  files in forms/  "$schema": "../.solhost/form.schema.json"
`,
  run: async ({ arguments: { folder: shown } }, terminal) => {
    const { path, files } = readSolutionFolder(shown)
    for (const [name, content] of editorFiles(files)) {
      if (name === CONFIGURATION && existsSync(join(path, name))) continue
      writeOwnFile(path, name, content)
      terminal.out(`${join(shown, name)}\n`)
    }
    terminal.out(`Next: open ${shellWord(shown)} in an editor.\n`)
    return 'done'
  },
})
