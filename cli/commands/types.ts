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
  notes:
    () => `This command writes solhost.d.ts and jsconfig.json. It also writes the schemas for solution.json and forms, and the
types for tests, to .solhost/. "solhost init" writes the same files, and "solhost check" updates them. Use this command
for a folder that was created without them.
To validate JSON files in an editor, add "$schema": "./.solhost/solution.schema.json" at the top of solution.json, and
"$schema": "../.solhost/form.schema.json" at the top of forms.
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
