import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '../../base/program/shell-word.ts'
import { command } from '../../base/terminal/command.ts'
import { CONFIGURATION, editorFiles } from '../editor-files.ts'
import { readSolutionFolder, writeOwnFile } from '../solution-folder.ts'

export const typesCommand = command({
  summary: 'write what editors complete and check a solution by',
  arguments: { folder: { what: 'the folder of the solution', default: '.' } },
  options: {},
  notes:
    () => `Files: solhost.d.ts, jsconfig.json, and in .solhost/ the schemas of solution.json and forms and the types
of tests. "solhost init" makes them, "solhost check" brings those up to date that are there; this command is for folders
that were made without them.
To have JSON files checked, begin them with "$schema": "./.solhost/solution.schema.json", in forms
"../.solhost/form.schema.json".
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
