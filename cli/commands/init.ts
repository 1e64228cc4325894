import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { newSolution } from '../../base/bundles/new-solution.ts'
import { SOLHOST } from '../../base/program/program-name.ts'
import { CommandError, command } from '../../base/terminal/command.ts'
import { ManifestSchema } from '../../runtime/bundle/manifest.ts'
import { editorFiles } from '../editor-files.ts'

export const initCommand = command({
  summary: 'create a folder with a working solution',
  arguments: { name: { what: 'name of the solution and of its folder' } },
  options: {},
  run: async ({ arguments: { name } }, terminal) => {
    checkName(name)
    checkFolder(name)
    const files = filesOf(name)
    for (const [file, content] of files) {
      mkdirSync(dirname(join(name, file)), { recursive: true })
      writeFileSync(join(name, file), content)
    }
    const lines = [...files.keys()].sort().map((file) => `  ${join(name, file)}\n`)
    terminal.out(`Created the solution "${name}":\n${lines.join('')}\n${next(name)}`)
    return 'done'
  },
})

/** Returns the solution's files and the files for editors, by path. */
function filesOf(name: string): Map<string, string> {
  const files = newSolution(name)
  const written = new Map([...files].map(([file, content]) => [file, Buffer.from(content)]))
  return new Map([...files, ...editorFiles(written)])
}

/** Checks the name as in a manifest, with the same error message. */
function checkName(name: string): void {
  const problem = ManifestSchema.shape.name.safeParse(name).error?.issues[0]?.message
  if (problem === undefined) return
  const shown = JSON.stringify(name.slice(0, 100))
  throw new CommandError('usage', `${shown} is not a valid solution name: it ${problem}.`)
}

function checkFolder(name: string): void {
  if (!existsSync(name)) return
  const problem = whyNotEmpty(name)
  if (problem === null) return
  const advice = 'Choose another name, or remove the existing file or folder first.'
  throw new CommandError('failed', `"${name}" ${problem}. Nothing was changed. ${advice}`)
}

/** @returns null if the folder is empty */
function whyNotEmpty(path: string): string | null {
  try {
    return readdirSync(path).length === 0 ? null : 'already exists and is not empty'
  } catch {
    return 'already exists and is not a folder'
  }
}

function next(name: string): string {
  return `Next:
  ${SOLHOST} dev ${name}            (runs it here; open pages update on each save)
  ${SOLHOST} test ${name}           (runs its tests)
  ${SOLHOST} deploy ${name} <url>   (deploys it to a host)
`
}
