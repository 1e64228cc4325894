import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The files of a new solution, in which {{name}}, {{title}} and {{authenticator}} are replaced. */
const NEW_SOLUTION = fileURLToPath(new URL('./new-solution', import.meta.url))

/** Returns the contents of a new solution's files, by path. */
export function newSolution(name: string, authenticator: 'NONE' | 'DEFAULT' = 'NONE'): Map<string, string> {
  const title = name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ')
  const values = Object.entries({ name, title, authenticator })
  const files = new Map<string, string>()
  for (const file of readdirSync(NEW_SOLUTION, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const path = join(file.parentPath, file.name)
    const content = values.reduce(
      (text, [key, value]) => text.replaceAll(`{{${key}}}`, value),
      readFileSync(path, 'utf8'),
    )
    files.set(path.slice(NEW_SOLUTION.length + 1).replaceAll('\\', '/'), content)
  }
  return files
}
