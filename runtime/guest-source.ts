import { readFileSync } from 'node:fs'
import { withoutTypes } from './without-types.ts'

/** Matches an import such as `import { a, b as c } from './part.guest.ts'`, in source without types. */
const IMPORT = /^import \{([^}]*)\} from ['"](\.\/[\w.-]+)['"];?$/gm
const EXPORT = /^export (?=(?:async )?(?:function\*?|const|class) ([\w$]+))/gm

/**
 * Reads a guest file as one script without types, since an isolate has no modules: the sibling files that it imports
 * are included first. Each of those has its own scope and is included once, even if several files import it.
 */
export function readGuest(file: URL): string {
  const names = new Map<string, string>()
  const parts: string[] = []

  function read(url: URL): string {
    const source = readFileSync(url, 'utf8')
    const plain = url.pathname.endsWith('.ts') ? withoutTypes(source) : source
    return plain.replace(IMPORT, (_, imported: string, path: string) => {
      return `const {${imported.replaceAll(' as ', ': ')}} = ${nameOf(new URL(path, url))};`
    })
  }

  function nameOf(part: URL): string {
    const known = names.get(part.href)
    if (known !== undefined) return known
    const name = `solhostGuest${names.size}`
    names.set(part.href, name)
    const exported: string[] = []
    const source = read(part).replace(EXPORT, (_, what: string) => {
      exported.push(what)
      return ''
    })
    parts.push(`let ${name} = (function () { ${source}\nreturn { ${exported.join(', ')} } })();\n`)
    return name
  }

  const source = read(file)
  // The functions' closures keep these variables. Without the objects in them, V8 creates fewer objects in each context.
  const cleared = [...names.values()].map((name) => `${name} = null\n`).join('')
  return parts.join('') + source.replace(/^export default /m, `${cleared}$&`)
}
