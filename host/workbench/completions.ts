import { readdirSync, readFileSync } from 'node:fs'
import { manifestJsonSchema } from '../../runtime/bundle/manifest-schema.ts'
import { formJsonSchema } from '../../runtime/forms/form-schema.ts'

/** Completions for the workbench's editor. The properties have the same names as in CodeMirror's `Completion`. */
export type Completions = {
  /** The members of each object by its path, such as `plugins.http`. The globals are listed under the empty path. */
  readonly members: Readonly<Record<string, readonly CompletedName[]>>
  readonly manifest: object
  readonly form: object
}

export type CompletedName = {
  readonly label: string
  readonly type: 'function' | 'variable' | 'property'
  /** The signature or type. */
  readonly detail: string
  /** The doc comment. */
  readonly info: string
}

const PLUGINS = new URL('../../plugins/', import.meta.url)

/** The platform's declarations and JSON Schemas. `solhost types` also generates files for other editors from them. */
export function readCompletions(): Completions {
  const folders = readdirSync(PLUGINS, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const texts = folders.map(({ name }) => readFileSync(new URL(`${name}/api.d.ts`, PLUGINS), 'utf8'))
  return { members: membersIn(texts), manifest: manifestJsonSchema(), form: formJsonSchema() }
}

/** Matches, for example, `declare const security: {`. */
const GLOBAL = /^declare (?:const|let|var) (\w+): .*$/
/** Matches, for example, `interface Plugins {`. */
const INTERFACE = /^interface (\w+) \{$/
/** Matches, for example, `  readonly http: {`, `  answer(status: number): EndpointAnswer` or `  readonly body: any`. */
const MEMBER = /^\s+(?:readonly )?(\w+)\??(<[^(]*>)?(\(|: )(.*)$/

/**
 * Reads the globals and their members. Relies on the format of these files, in which each member starts on its own line
 * after a doc comment.
 */
export function membersIn(texts: readonly string[]): Readonly<Record<string, readonly CompletedName[]>> {
  const members: Record<string, CompletedName[]> = { '': [] }
  const add = (owner: string, name: CompletedName) => {
    members[owner] ??= []
    if (!members[owner].some(({ label }) => label === name.label)) members[owner].push(name)
  }
  for (const text of texts) readFile(text.split('\n'), add)
  return members
}

function readFile(lines: readonly string[], add: (owner: string, name: CompletedName) => void): void {
  /** The names of the objects around the line, outermost first. A name is null in a type that is not a global's. */
  const owners: (string | null)[] = []
  let doc: string[] = []
  for (const line of lines) {
    const trimmed = line.trim()
    if (/^(\/\*\*|\*)/.test(trimmed)) {
      if (trimmed.startsWith('/**')) doc = []
      doc.push(trimmed.replace(/^\/\*\*\s?|\s*\*\/$|^\*\s?/g, ''))
      continue
    }
    const info = doc.join('\n').trim()
    const [, declared] = GLOBAL.exec(line) ?? []
    const [, named] = INTERFACE.exec(line) ?? []
    if (declared !== undefined) {
      add('', { label: declared, type: 'variable', detail: '', info })
      if (line.endsWith('{')) owners.push(declared)
    } else if (named !== undefined) {
      // `Plugins` is the interface of the global `plugins`; each plugin adds members to it. All other interfaces are
      // types of values.
      owners.push(named === 'Plugins' ? 'plugins' : null)
    } else if (/^\s*\}/.test(line)) {
      owners.pop()
    } else if (owners.length > 0) {
      const member = MEMBER.exec(line)
      const path = owners.includes(null) ? null : owners.join('.')
      if (path !== null && member !== null && isDirect(line, owners.length)) add(path, memberOf(member, info))
      if (line.endsWith('{')) owners.push(path === null || member?.[3] !== ': ' ? null : (member[1] ?? ''))
    }
    doc = []
  }
}

/** Whether the line declares a member of the innermost object. Parameters on separate lines are indented further. */
function isDirect(line: string, depth: number): boolean {
  return (/^ */.exec(line)?.[0].length ?? 0) === 2 * depth
}

function memberOf([, label = '', , kind, rest = '']: RegExpExecArray, info: string): CompletedName {
  const isFunction = kind === '('
  // A signature on several lines is shown without its parameters.
  const shown = rest === '' ? '…)' : rest.endsWith('{') ? '' : rest
  const detail = shown === '' ? '' : `${isFunction ? '(' : ': '}${shown}`
  return { label, type: isFunction ? 'function' : 'property', detail, info }
}
