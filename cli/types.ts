import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { type Comment, type Pattern, parse } from 'acorn'
import { PROPERTIES } from '../plugins/forms/host.ts'
import { type Place, placeOf, splitModule } from '../runtime/bundle/layout.ts'
import { FORM_EVENTS } from '../runtime/bundle/manifest.ts'
import {
  type ElementDefinition,
  elementsOf,
  type FormDefinition,
  MAX_NESTING,
} from '../runtime/forms/form-definition.ts'

const PLUGINS = new URL('../plugins/', import.meta.url)

const HEAD = `// What the scripts of this solution can use, for editors. Made by "solhost types" and brought up to date by
// "solhost check"; what is changed here is lost.

`

/** Globals of every sandbox that are not from a plugin. */
const SURROUNDINGS = `/** Lines in the solution's log, with the position of the call. */
declare const console: Record<'debug' | 'log' | 'info' | 'warn' | 'error' | 'trace', (...values: unknown[]) => void>

interface String {
  /** Of a constant of EventType: the name of the event type. */
  getName(): string
}
`

/**
 * The declarations of plugins fit any solution; these replacements narrow them to the solution's own names. Where a
 * name can be built at run time, any string stays allowed, and known names are completed.
 */
const OWN_NAMES: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  'events-manager': [
    [
      'declare const EventType: { readonly [name: string]: EventTypeName }',
      'declare const EventType: SolutionEventTypes',
    ],
    [
      '  addEventListener(eventType: string,',
      `  addEventListener<Type extends keyof SolutionEvents>(
    eventType: Type,
    callback: (event: JSEvent, ...args: SolutionEvents[Type]) => unknown,
    context?: string | object | null,
  ): () => boolean
  addEventListener(eventType: string,`,
    ],
    ['(eventType: string', '(eventType: keyof SolutionEvents | AnyText'],
    ['    eventType: string,', '    eventType: keyof SolutionEvents | AnyText,'],
  ],
  forms: [['declare const forms: { readonly [name: string]: Form }', 'declare const forms: SolutionForms']],
  i18n: [['(key: string,', '(key: SolutionText | AnyText,']],
  application: [['showForm(form: string)', 'showForm(form: keyof SolutionForms | AnyText)']],
  security: [['hasPermission(name: string)', 'hasPermission(name: SolutionPermission | AnyText)']],
  database: [['      name: string,', '      name: SolutionDatabase | AnyText,']],
}

/**
 * Generates a solution's `solhost.d.ts`: the declarations of the platform's plugins, then the solution's event types,
 * forms, texts and functions. Files that cannot be read are left out; `check` reports them.
 * @param files of the solution, by path
 */
export function solutionTypes(files: ReadonlyMap<string, Buffer>): string {
  const folders = readdirSync(PLUGINS, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const plugins = folders
    .map(({ name }) => name)
    .sort()
    .map(pluginTypes)
  return [HEAD, SURROUNDINGS, ...plugins, ownTypes(files)].join('\n')
}

function pluginTypes(plugin: string): string {
  let text = readFileSync(new URL(`${plugin}/api.d.ts`, PLUGINS), 'utf8')
  for (const [from, to] of OWN_NAMES[plugin] ?? []) {
    if (!text.includes(from)) throw new TypeError(`plugins/${plugin}/api.d.ts has no "${from}" any more`)
    text = text.replaceAll(from, to)
  }
  return text
}

type FileOf<Kind extends Place['kind']> = {
  readonly place: Extract<Place, { kind: Kind }>
  readonly path: string
  readonly text: string
}

function ownTypes(files: ReadonlyMap<string, Buffer>): string {
  const ofKind = <Kind extends Place['kind']>(kind: Kind): FileOf<Kind>[] =>
    [...files].flatMap(([path, content]) => {
      const place = placeOf(splitModule(path).path)
      return place.kind === kind
        ? [{ place: place as FileOf<Kind>['place'], path, text: content.toString('utf8') }]
        : []
    })
  const manifests = ofKind('manifest').map(({ text }) => objectIn(readJson(text)))
  const scripts = ofKind('formScript')
  const forms = ofKind('form').map((form) => formTypes(form, scripts))
  const texts = ofKind('i18n').flatMap(({ text }) => Object.keys(objectIn(readJson(text))))
  const permissions = manifests.flatMap((manifest) => listIn(manifest.permissions).filter(isText))
  const databases = manifests.flatMap((manifest) => Object.keys(objectIn(manifest.databases)))
  return `// This solution

/** Any text; beside known ones it lets an editor offer those. */
type AnyText = string & Record<never, never>
${union('The keys of its tables in i18n/.', 'SolutionText', texts)}
${union('What solution.json lists.', 'SolutionPermission', permissions)}
${union('What solution.json asks for.', 'SolutionDatabase', databases)}

${eventTypes(manifests.map((manifest) => objectIn(manifest.eventTypes)))}

${elementTypes()}

/** A form of the solution. */
interface SolutionForm {
  /** A text, or "i18n:" and a key. */
  title: string
  getName(): string
}

interface SolutionForms {
${[...new Map(forms).values()].join('\n')}
}
${ofKind('script')
  .filter(({ path }) => !isAuthenticator(path, files))
  .map(({ path, text }) => globalsOf(path, text))
  .join('')}`
}

function union(what: string, name: string, texts: readonly string[]): string {
  const all = [...new Set(texts)].sort().map((text) => JSON.stringify(text))
  return `/** ${what} */\ntype ${name} = ${all.length === 0 ? 'never' : all.join(' | ')}`
}

/** Arguments that listeners get after the event, as documented in docs/forms.md; those of other events are unknown. */
const OWN_ARGUMENTS: Partial<Record<(typeof FORM_EVENTS)[number], string>> = {
  onShow: '[firstShow: boolean]',
  onSort: "[column: string, direction: 'ascending' | 'descending']",
  onElementDataChange: '[oldValue: any, newValue: any]',
  onRecordSelection: '[ids: (string | number)[]]',
}

function eventTypes(declared: readonly Record<string, unknown>[]): string {
  const own = new Map(declared.flatMap((types) => Object.entries(types)).filter(([name]) => isIdentifier(name)))
  const names = [...FORM_EVENTS, ...own.keys()]
  const listeners = [
    ...FORM_EVENTS.map((name) => `  ${name}: ${OWN_ARGUMENTS[name] ?? 'any[]'}`),
    ...[...own].map(
      ([name, declaration]) => `${docOf(objectIn(declaration).description)}  ${name}: ${argumentsOf(declaration)}`,
    ),
  ]
  return `/** The events of the platform and of the solution: what their listeners get after the event. */
interface SolutionEvents {
${listeners.join('\n')}
}

interface SolutionEventTypes {
${names.map((name) => `  readonly ${name}: '${name}'`).join('\n')}
}`
}

function argumentsOf(declaration: unknown): string {
  const all = listIn(objectIn(declaration).arguments).map(objectIn)
  return `[${all.map(({ name, type }, index) => `${isIdentifier(name) ? name : `argument${index + 1}`}?: ${typeOf(type)}`).join(', ')}]`
}

/** A manifest can declare any text as a type; only clear type names are used. */
function typeOf(written: unknown): string {
  const isType = isText(written) && /^[A-Za-z]+(\[\])*( \| [A-Za-z]+(\[\])*)*$/.test(written)
  return isType ? written : 'any'
}

/** The type of `value`; element types not listed have no value. */
const VALUES: Partial<Record<ElementDefinition['type'], string>> = {
  text: 'string',
  password: 'string',
  email: 'string',
  textarea: 'string',
  number: 'number | null',
  date: 'string | null',
  checkbox: 'boolean',
  select: 'string | number | null',
  radio: 'string | number | null',
  tabs: 'string',
}

/** One interface for each element type, with the properties that scripts can read and set. */
function elementTypes(): string {
  const properties = Object.entries(PROPERTIES) as [ElementDefinition['type'], readonly string[]][]
  return properties
    .map(([type, names]) => {
      const picked = names.filter((name) => name !== 'value').map((name) => `'${name}'`)
      const value = names.includes('value') ? `{\n  value: ${VALUES[type] ?? 'any'}\n}` : '{}'
      return `interface ${elementType(type)} extends Pick<FormElement, ${picked.join(' | ')}> ${value}`
    })
    .join('\n')
}

function elementType(type: string): string {
  return `${type.charAt(0).toUpperCase()}${type.slice(1)}FormElement`
}

function formTypes({ place, path, text }: FileOf<'form'>, scripts: readonly FileOf<'formScript'>[]): [string, string] {
  const elements = elementsIn(readJson(text)).map(([name, type]) => `      readonly ${name}: ${elementType(type)}\n`)
  const script = scripts.find(({ path: other }) => other.replace(/\.[jt]s$/, '') === path.replace(/\.json$/, ''))
  const functions = script === undefined ? [] : functionsIn(script.path, script.text)
  const members = functions.map(({ name, parameters, doc }) => `${indented(doc)}    ${name}(${parameters}): any\n`)
  const name = isIdentifier(place.base) ? place.base : JSON.stringify(place.base)
  return [
    place.base,
    `  readonly ${name}: SolutionForm & {\n    readonly elements: {\n${elements.join('')}    }\n${members.join('')}  }`,
  ]
}

/** Name and type of each element. An unfinished form can have any shape. */
function elementsIn(form: unknown): [string, string][] {
  if (!hasBoundedDepth(form)) return []
  try {
    return [...elementsOf((form as FormDefinition).layout ?? [])]
      .filter(({ name, type }) => isIdentifier(name) && isText(type) && /^[a-z]+$/.test(type))
      .map(({ name, type }) => [name, type])
  } catch {
    return []
  }
}

function hasBoundedDepth(value: unknown, depth = 8 * MAX_NESTING): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((inner) => hasBoundedDepth(inner, depth - 1))
}

/** The top-level declarations of a script that other scripts see. */
function globalsOf(path: string, text: string): string {
  const all = [
    ...functionsIn(path, text).map(
      ({ name, parameters, doc }) => `${doc}declare function ${name}(${parameters}): any\n`,
    ),
    ...variablesIn(path, text).map((name) => `declare var ${name}: any\n`),
  ]
  return all.length === 0 ? '' : `\n// ${path}\n\n${all.join('')}`
}

/** A module that signs users in runs in a separate context. */
function isAuthenticator(path: string, files: ReadonlyMap<string, Buffer>): boolean {
  const { module } = splitModule(path)
  const manifest = module === null ? undefined : files.get(`modules/${module}/solution.json`)
  return objectIn(readJson(manifest?.toString('utf8') ?? '')).type === 'authenticator'
}

type DeclaredFunction = { readonly name: string; readonly parameters: string; readonly doc: string }

function functionsIn(path: string, text: string): DeclaredFunction[] {
  const { body, docBefore } = read(path, text)
  return body.flatMap((statement) => {
    if (statement.type === 'FunctionDeclaration') {
      return [{ name: statement.id.name, parameters: parametersOf(statement.params), doc: docBefore(statement.start) }]
    }
    if (statement.type !== 'VariableDeclaration') return []
    return statement.declarations.flatMap(({ id, init }) => {
      const isFunction = init?.type === 'FunctionExpression' || init?.type === 'ArrowFunctionExpression'
      if (!isFunction || id.type !== 'Identifier') return []
      return [{ name: id.name, parameters: parametersOf(init.params), doc: docBefore(statement.start) }]
    })
  })
}

function variablesIn(path: string, text: string): string[] {
  const functions = new Set(functionsIn(path, text).map(({ name }) => name))
  return read(path, text).body.flatMap((statement) => {
    if (statement.type === 'ClassDeclaration') return [statement.id.name]
    if (statement.type !== 'VariableDeclaration') return []
    return statement.declarations.flatMap(({ id }) =>
      id.type === 'Identifier' && !functions.has(id.name) ? [id.name] : [],
    )
  })
}

/** @returns an empty body if it is not a valid script */
function read(path: string, text: string) {
  const comments: Comment[] = []
  try {
    // The author's own script on the author's machine, so it is safe to parse here.
    const source = path.endsWith('.ts') ? stripTypeScriptTypes(text, { mode: 'strip' }) : text
    const { body } = parse(source, { ecmaVersion: 'latest', sourceType: 'script', onComment: comments })
    const docBefore = (start: number): string => {
      const last = comments.findLast(({ end }) => end <= start)
      const isDoc = last?.type === 'Block' && last.value.startsWith('*') && source.slice(last.end, start).trim() === ''
      return isDoc ? `/*${last.value}*/\n` : ''
    }
    return { body, docBefore }
  } catch {
    return { body: [], docBefore: () => '' }
  }
}

/** All parameters are optional: scripts may pass fewer arguments. */
function parametersOf(parameters: readonly Pattern[]): string {
  return parameters
    .map((parameter, index) => {
      if (parameter.type === 'RestElement') return '...rest: any[]'
      const target = parameter.type === 'AssignmentPattern' ? parameter.left : parameter
      return `${target.type === 'Identifier' ? target.name : `argument${index + 1}`}?: any`
    })
    .join(', ')
}

function docOf(description: unknown): string {
  return isText(description) ? `  /** ${description.replaceAll('*/', '* /')} */\n` : ''
}

function indented(doc: string): string {
  return doc.replace(/^\s*(?=.)/gm, (space) => (space === '' ? '    ' : '     '))
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function objectIn(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isIdentifier(value: unknown): value is string {
  return isText(value) && /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(value)
}
