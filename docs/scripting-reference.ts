// Generates docs/reference/scripting.md from the declarations that editors use.
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  type InterfaceDeclaration,
  type JSDoc,
  type JSDocParameterTag,
  type Node,
  type SourceFile,
  type Statement,
  SyntaxKind,
  type TypeElement,
  type TypeNode,
} from 'typescript/unstable/ast'
import {
  isInterfaceDeclaration,
  isMethodSignatureDeclaration,
  isPropertySignatureDeclaration,
  isTypeAliasDeclaration,
  isTypeLiteralNode,
  isVariableStatement,
} from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/sync'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** One member of a global or a type, with all its overloads. */
export type ReferenceMember = { readonly name: string; readonly signatures: readonly Signature[] }
export type Signature = { readonly text: string; readonly doc: Doc }
export type Doc = {
  readonly text: string
  readonly parameters: readonly { readonly name: string; readonly text: string }[]
  readonly returns: string | null
  readonly throws: readonly string[]
}
/**
 * `name` is `security`, `plugins.database`, or a type such as `JSEvent`. `type` is the definition of a type without
 * members.
 */
export type ReferenceEntry = {
  readonly name: string
  readonly kind: 'global' | 'type'
  readonly doc: Doc
  readonly type: string | null
  readonly members: readonly ReferenceMember[]
}

/** The API for scripts, in the order of the plugins' folders. */
export function scriptingEntries(): ReferenceEntry[] {
  return readDeclarations(globSync('plugins/*/api.d.ts', { cwd: ROOT }).sort())
}

/** The API for a plugin's guest part. */
export function guestEntries(): ReferenceEntry[] {
  return readDeclarations(['runtime/sandbox/guest-api.d.ts'])
}

function readDeclarations(files: readonly string[]): ReferenceEntry[] {
  const api = new API({ cwd: ROOT })
  try {
    const [project] = api.updateSnapshot({ openProject: `${ROOT}tsconfig.json` }).getProjects()
    return files.flatMap((file) => {
      const source = project?.program.getSourceFile(`${ROOT}${file}`)
      if (source === undefined) throw new TypeError(`${file} is not part of tsconfig.json`)
      return [...source.statements].flatMap((statement) => entriesOf(statement, source))
    })
  } finally {
    api.close()
  }
}

function entriesOf(statement: Statement, source: SourceFile): ReferenceEntry[] {
  if (isInterfaceDeclaration(statement)) {
    return statement.name.text === 'Plugins' ? bindingsUnderPlugins(statement, source) : [typeEntry(statement, source)]
  }
  if (isTypeAliasDeclaration(statement)) {
    const entry = { name: statement.name.text, kind: 'type', doc: docOf(statement), members: [] } as const
    return [{ ...entry, type: textOf(statement.type, source) }]
  }
  if (!isVariableStatement(statement)) return []
  return [...statement.declarationList.declarations]
    .filter(({ name }) => textOf(name, source) !== 'plugins')
    .map(({ name, type }) => globalEntry(textOf(name, source), docOf(statement), type, source))
}

function globalEntry(name: string, doc: Doc, type: TypeNode | undefined, source: SourceFile): ReferenceEntry {
  const members = type !== undefined && isTypeLiteralNode(type) ? membersOf(type.members, source) : []
  const isPlain = members.length === 0 && type !== undefined
  return { name, kind: 'global', doc, type: isPlain ? textOf(type, source) : null, members }
}

function typeEntry(statement: InterfaceDeclaration, source: SourceFile): ReferenceEntry {
  const members = membersOf(statement.members, source)
  return { name: statement.name.text, kind: 'type', doc: docOf(statement), type: null, members }
}

function bindingsUnderPlugins(statement: InterfaceDeclaration, source: SourceFile): ReferenceEntry[] {
  return [...statement.members]
    .filter(isPropertySignatureDeclaration)
    .map((member) => globalEntry(`plugins.${textOf(member.name, source)}`, docOf(member), member.type, source))
}

/** Groups overloads under their common name. An overload without a comment belongs to the previous one. */
function membersOf(members: Iterable<TypeElement>, source: SourceFile): ReferenceMember[] {
  const byName = new Map<string, Signature[]>()
  for (const member of members) {
    const isNamed = isMethodSignatureDeclaration(member) || isPropertySignatureDeclaration(member)
    const name = isNamed ? textOf(member.name, source) : textOf(member, source)
    const signature = { text: textOf(member, source), doc: docOf(member) }
    byName.set(name, [...(byName.get(name) ?? []), signature])
  }
  return [...byName].map(([name, signatures]) => ({ name, signatures }))
}

/** The source text without its comment, with the indentation removed. */
function textOf(node: Node, source: SourceFile): string {
  const lines = source.text.slice(node.getStart(source), node.end).split('\n')
  const indent = Math.min(...lines.slice(1).map((line) => line.search(/\S|$/)))
  return [lines[0], ...lines.slice(1).map((line) => line.slice(indent))].join('\n').replace(/[;,]$/, '')
}

function docOf(node: Node): Doc {
  const comment = node.jsDoc?.at(-1) as JSDoc | undefined
  const tags = [...(comment?.tags ?? [])]
  const texts = (kind: SyntaxKind) => tags.filter((tag) => tag.kind === kind).map((tag) => plainText(tag.comment))
  return {
    text: plainText(comment?.comment),
    parameters: tags
      .filter((tag) => tag.kind === SyntaxKind.JSDocParameterTag)
      .map((tag) => ({ name: (tag as JSDocParameterTag).name.getText(), text: plainText(tag.comment) })),
    returns: texts(SyntaxKind.JSDocReturnTag)[0] ?? null,
    throws: texts(SyntaxKind.JSDocThrowsTag),
  }
}

function plainText(comment: string | Iterable<Node> | undefined): string {
  if (comment === undefined || typeof comment === 'string') return (comment ?? '').trim()
  return [...comment]
    .map((part) => (part as unknown as { text: string }).text)
    .join('')
    .replace(/[ \t]*\n[ \t]*/g, '\n')
    .trim()
}

/**
 * Generates the page. Members of a global are headings, so that guides can link to each. Members of a type are a list.
 */
export function scriptingPage(): string {
  const entries = scriptingEntries()
  const globals = entries.filter(({ kind }) => kind === 'global')
  const types = entries.filter(({ kind }) => kind === 'type')
  return `# Scripting reference

Use this page to look up the globals and functions that a solution's scripts can use. It is generated from the type
declarations that editors use for autocompletion (\`plugins/*/api.d.ts\`). These guides contain examples: [authenticators](../authenticators.md),
[forms](../forms.md), [events](../events.md), [databases](../databases-in-scripts.md),
[everything else](../solutions.md).

Scripts use the JavaScript language of Node.js 26, but not its modules: no \`require\`, \`import\`, \`fetch\` or timers.
\`console.log\` and similar functions write to the solution's log, like [\`application.output\`](#applicationoutput).

| global | |
|---|---|
${globals.map(({ name, doc }) => `| [\`${name}\`](#${anchorOf(name)}) | ${firstSentence(doc.text)} |`).join('\n')}

## Functions that you write

The platform calls these functions. Each can be \`async\`.

| function | where | called |
|---|---|---|
| \`onSolutionOpen(arg, queryParams)\` | authenticator | for each sign-in: [authenticators](../authenticators.md) |
| \`getOAuthConfig(queryParams)\` | authenticator or main | for each sign-in in the mode \`OAUTH_AUTHENTICATOR\`: [oauth](../oauth.md#choose-the-provider-by-url-getoauthconfig) |
| \`onSolutionOpen(arg, queryParams)\` | main | when a client opens: [forms](../forms.md#the-client) |
| \`onSolutionClose()\` | main | when a client closes |
| handlers such as \`onShow(firstShow, event)\` | a form's script | when the event occurs: [forms](../forms.md#handlers) |

${globals.map(globalSection).join('\n')}
## Types

${types.map(typeSection).join('\n')}
## For plugins: the guest API

The argument of the function in a plugin's \`guest.ts\` ([plugins](../plugins.md)).

${guestEntries().map(typeSection).join('\n')}`
}

function globalSection({ name, doc, type, members }: ReferenceEntry): string {
  const parts = members.map((member) => {
    const isFunction = /^[\w.]+$/.test(member.name)
    return `### ${isFunction ? `${name}.${member.name}` : `${name}[name]`}\n\n${signatureBlock(member)}${docText(member)}`.trimEnd()
  })
  const own = type === null ? '' : `\`\`\`ts\n${type}\n\`\`\`\n\n`
  return `## ${name}\n\n${doc.text}\n\n${own}${parts.join('\n\n')}\n`
}

function signatureBlock({ signatures }: ReferenceMember): string {
  return `\`\`\`ts\n${signatures.map(({ text }) => text).join('\n')}\n\`\`\`\n\n`
}

function docText({ signatures }: ReferenceMember): string {
  return signatures.map(({ doc }) => describe(doc)).join('')
}

function describe(doc: Doc): string {
  const details = [
    ...doc.parameters.map(({ name, text }) => `- \`${name}\`: ${oneLine(text)}`),
    ...(doc.returns === null ? [] : [`- Returns ${oneLine(doc.returns)}`]),
    ...doc.throws.map((text) => `- Throws ${oneLine(text)}`),
  ]
  return [doc.text, details.join('\n')]
    .filter((part) => part !== '')
    .map((part) => `${part}\n\n`)
    .join('')
}

function typeSection({ name, doc, type, members }: ReferenceEntry): string {
  const rows = members.flatMap(({ signatures }) =>
    signatures.map(({ text, doc: of }) => {
      const said = [
        of.text,
        ...(of.returns === null ? [] : [`Returns ${of.returns}`]),
        ...of.throws.map((one) => `Throws ${one}`),
      ]
      return `| \`${oneLine(text).replaceAll('|', '\\|')}\` | ${oneLine(said.filter((one) => one !== '').join(' ')).replaceAll('|', '\\|')} |`
    }),
  )
  const table = rows.length === 0 ? '' : `| member | |\n|---|---|\n${rows.join('\n')}\n`
  const own = type === null ? '' : `\`\`\`ts\n${type}\n\`\`\`\n`
  return `### ${name}\n\n${doc.text === '' ? '' : `${doc.text}\n\n`}${describe({ ...doc, text: '' })}${own}${table}`
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function firstSentence(text: string): string {
  return /^[^.]+(\.(?!\s)[^.]+)*\.?/.exec(oneLine(text))?.[0] ?? ''
}

/** The anchor that GitHub generates for a heading. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\w\s-]/g, '')
}
