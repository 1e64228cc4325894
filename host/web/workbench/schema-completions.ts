import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { syntaxTree } from '@codemirror/language'

/** The parts of a JSON Schema that completions use. */
export type JsonSchema = {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema | boolean
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
}

type SyntaxNode = ReturnType<ReturnType<typeof syntaxTree>['resolveInner']>

/** Completes the names of properties and the values of enumerations. */
export function completeJson(context: CompletionContext, root: JsonSchema): CompletionResult | null {
  const node = syntaxTree(context.state).resolveInner(context.pos, -1)
  const typed = context.matchBefore(/"?[\w$-]*/)
  if (typed === null || (typed.text === '' && !context.explicit)) return null
  const isName = isAtName(node, context)
  const schemas = branchesOf(schemasAt(ownersOf(node, context, isName), root), root)
  const options = isName ? schemas.flatMap(namesIn) : schemas.flatMap(valuesIn)
  if (options.length === 0) return null
  const isOpen = typed.text.startsWith('"')
  const isClosed = context.state.sliceDoc(context.pos, context.pos + 1) === '"'
  const quotes = { before: isOpen ? '' : '"', after: isClosed ? '' : '"', colon: isName && !isClosed ? ': ' : '' }
  const written = options.map((one) => ({ ...one, apply: applied(one.label, isName || isOpen, quotes) }))
  return { from: typed.from + (isOpen ? 1 : 0), options: unique(written), validFor: /^[\w$-]*$/ }
}

/** Whether the name of a property is expected here: after `{` or `,` in an object, or inside a name. */
function isAtName(node: SyntaxNode, { state, pos }: CompletionContext): boolean {
  if (node.name === 'PropertyName') return true
  const before = state
    .sliceDoc(Math.max(0, pos - 200), pos)
    .replace(/"?[\w$-]*$/, '')
    .trimEnd()
  const object = enclosing(node, ['Object', 'Array'])
  return object?.name === 'Object' && /[{,]$/.test(before)
}

function enclosing(node: SyntaxNode | null, names: readonly string[]): SyntaxNode | null {
  for (let one = node; one !== null; one = one.parent) if (names.includes(one.name)) return one
  return null
}

/** The path to this position as property names, outermost first. `[]` is an array element. */
function ownersOf(node: SyntaxNode, { state }: CompletionContext, isName: boolean): readonly string[] {
  const path: string[] = []
  const start = isName ? enclosing(node, ['Object']) : node
  for (let one = start; one !== null; one = one.parent) {
    if (one.name === 'Array') path.unshift('[]')
    if (one.name !== 'Property') continue
    const name = one.getChild('PropertyName')
    if (name !== null) path.unshift(state.sliceDoc(name.from + 1, name.to - 1))
  }
  return path
}

function schemasAt(path: readonly string[], root: JsonSchema): readonly JsonSchema[] {
  let found: readonly JsonSchema[] = [root]
  for (const step of path) found = branchesOf(found, root).flatMap((schema) => below(schema, step))
  return found
}

function below({ properties = {}, additionalProperties, items }: JsonSchema, step: string): readonly JsonSchema[] {
  if (step === '[]') return typeof items === 'object' ? [items] : []
  const own = Object.hasOwn(properties, step) ? properties[step] : undefined
  if (own !== undefined) return [own]
  return typeof additionalProperties === 'object' ? [additionalProperties] : []
}

/** Returns these schemas and those in their `$ref`, `anyOf`, `oneOf` and `allOf`. */
function branchesOf(schemas: readonly JsonSchema[], root: JsonSchema, depth = 0): readonly JsonSchema[] {
  if (depth > 8) return []
  return schemas.flatMap((schema) => {
    const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema
    const target = $ref === '#' ? root : root.$defs?.[$ref?.replace('#/$defs/', '') ?? '']
    const others = [...anyOf, ...oneOf, ...allOf, ...(target === undefined ? [] : [target])]
    return [schema, ...branchesOf(others, root, depth + 1)]
  })
}

function namesIn({ properties = {} }: JsonSchema): readonly Completion[] {
  return Object.entries(properties).map(([label, { description, type }]) => ({
    label,
    type: 'property',
    ...(typeof type === 'string' ? { detail: type } : {}),
    ...(description === undefined ? {} : { info: description }),
  }))
}

function valuesIn(schema: JsonSchema): readonly Completion[] {
  const values = [...(schema.enum ?? []), ...(schema.const === undefined ? [] : [schema.const])]
  const all = schema.type === 'boolean' ? [...values, true, false] : values
  return all.map((value) => ({ label: typeof value === 'string' ? value : JSON.stringify(value), type: 'constant' }))
}

type Quotes = { readonly before: string; readonly after: string; readonly colon: string }

/** The text that a completion inserts. It contains only the quotes that are missing in the document. */
function applied(label: string, isText: boolean, { before, after, colon }: Quotes): string {
  if (!isText && /^(true|false|null|-?\d.*)$/.test(label)) return label
  return `${before}${label}${after}${colon}`
}

function unique(options: readonly Completion[]): readonly Completion[] {
  return [...new Map(options.map((one) => [one.label, one])).values()]
}
