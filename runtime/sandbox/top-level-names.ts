import {
  type ClassBody,
  type FunctionDeclaration,
  type Pattern,
  type Program,
  type PropertyDefinition,
  parse,
  type Statement,
} from 'acorn'

/** A name in a script, with its line and column, both counted from 1. */
export type TopLevelName = { readonly name: string; readonly line: number; readonly column: number }

/** `isLexical`: `let`, `const` and classes, which are not properties of the global object. */
export type DeclaredName = TopLevelName & { readonly isLexical: boolean }

/**
 * Finds the names that a script declares at its top level. The host checks them, so that two files in one folder can't
 * silently replace each other's functions. `var` inside blocks is included, since it is hoisted to the top level.
 * @returns an empty list for a script that acorn can't parse; V8 decides whether it is valid
 */
export function topLevelNames(source: string): DeclaredName[] {
  const program = parseScript(source)
  return program === null ? [] : topLevelNamesOf(program)
}

/** @returns null for a script that acorn can't parse; V8 decides whether it is valid */
export function parseScript(source: string): Program | null {
  try {
    return parse(source, { ecmaVersion: 'latest', sourceType: 'script', locations: true, ranges: true })
  } catch {
    return null
  }
}

/** @param program parsed with `locations` */
export function topLevelNamesOf(program: Program): DeclaredName[] {
  const names: DeclaredName[] = []
  for (const statement of program.body) collect(statement as Statement, true, names)
  return names
}

/**
 * `names`: all functions, without duplicates. `bound`: the functions whose `this` is the form even in a call such as
 * `save()`.
 */
export type TopLevelFunctions = { readonly names: readonly string[]; readonly bound: readonly string[] }

/**
 * Finds the functions that a form's script declares at its top level: declarations, and variables initialised with a
 * function or arrow function. Chosen here: later assignments to a variable are ignored.
 * `bound` contains declarations that use `this` in a sloppy script. In a call such as `save()`, the language would set
 * their `this` to the global object. Arrow functions need no binding, because the script itself runs with the form as
 * `this`. Strict scripts have no bound functions: their authors chose that `this` is undefined there.
 * @returns null for a script that acorn cannot parse
 */
export function topLevelFunctions(source: string): TopLevelFunctions | null {
  const names = new Set<string>()
  const bound = new Set<string>()
  try {
    const program = parse(source, { ecmaVersion: 'latest', sourceType: 'script' })
    for (const statement of program.body) {
      if (statement.type === 'FunctionDeclaration') {
        names.add(statement.id.name)
        if (usesThis(statement)) bound.add(statement.id.name)
      }
      if (statement.type !== 'VariableDeclaration') continue
      for (const { id, init } of statement.declarations) {
        const isFunction = init?.type === 'FunctionExpression' || init?.type === 'ArrowFunctionExpression'
        if (isFunction && id.type === 'Identifier') names.add(id.name)
      }
    }
    // The code that binds functions uses `arguments`, so a function with this name would break it.
    const cannotBind = isStrict(program) || names.has('arguments')
    return { names: [...names], bound: cannotBind ? [] : [...bound] }
  } catch {
    return null
  }
}

function isStrict({ body }: Program): boolean {
  return body.some((statement) => 'directive' in statement && statement.directive === 'use strict')
}

/** Whether a script's top-level code uses `this`. */
export function readsThis({ body }: Program): boolean {
  return hasThis([body])
}

/** Whether the function itself uses `this`. */
function usesThis({ params, body }: FunctionDeclaration): boolean {
  return hasThis([params, body])
}

/**
 * Whether the code uses the surrounding `this`. Functions and classes have a different `this` in their bodies, except
 * in computed names of class members.
 */
function hasThis(parts: readonly unknown[]): boolean {
  const open: unknown[] = [...parts]
  while (open.length > 0) {
    const node = open.pop()
    if (typeof node !== 'object' || node === null) continue
    const { type } = node as { type?: unknown }
    if (type === 'ThisExpression') return true
    if (type === 'FunctionExpression' || type === 'FunctionDeclaration') continue
    if (type === 'ClassBody') {
      for (const { computed, key } of (node as ClassBody).body as PropertyDefinition[]) if (computed) open.push(key)
      continue
    }
    for (const part of Object.values(node)) open.push(part)
  }
  return false
}

function collect(statement: Statement, top: boolean, names: DeclaredName[]): void {
  switch (statement.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      if (top && statement.id) add(statement.id, statement.type === 'ClassDeclaration', names)
      return
    case 'VariableDeclaration':
      if (!top && statement.kind !== 'var') return
      for (const one of statement.declarations) pattern(one.id, statement.kind !== 'var', names)
      return
    case 'BlockStatement':
      for (const inner of statement.body) collect(inner, false, names)
      return
    case 'IfStatement':
      collect(statement.consequent, false, names)
      if (statement.alternate) collect(statement.alternate, false, names)
      return
    case 'ForStatement':
      if (statement.init?.type === 'VariableDeclaration') collect(statement.init, false, names)
      collect(statement.body, false, names)
      return
    case 'ForInStatement':
    case 'ForOfStatement':
      if (statement.left.type === 'VariableDeclaration') collect(statement.left, false, names)
      collect(statement.body, false, names)
      return
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'LabeledStatement':
      collect(statement.body, false, names)
      return
    case 'TryStatement':
      for (const block of [statement.block, statement.handler?.body, statement.finalizer]) {
        if (block) collect(block, false, names)
      }
      return
    case 'SwitchStatement':
      for (const one of statement.cases) for (const inner of one.consequent) collect(inner, false, names)
      return
    default:
      return
  }
}

function pattern(target: Pattern, isLexical: boolean, names: DeclaredName[]): void {
  switch (target.type) {
    case 'Identifier':
      add(target, isLexical, names)
      return
    case 'ArrayPattern':
      for (const element of target.elements) if (element) pattern(element, isLexical, names)
      return
    case 'ObjectPattern':
      for (const property of target.properties) {
        pattern(property.type === 'RestElement' ? property.argument : property.value, isLexical, names)
      }
      return
    case 'AssignmentPattern':
      pattern(target.left, isLexical, names)
      return
    case 'RestElement':
      pattern(target.argument, isLexical, names)
      return
    default:
      return
  }
}

function add(
  identifier: { name: string; loc?: { start: { line: number; column: number } } | null },
  isLexical: boolean,
  names: DeclaredName[],
): void {
  const start = identifier.loc?.start ?? { line: 1, column: 0 }
  names.push({ name: identifier.name, line: start.line, column: start.column + 1, isLexical })
}
