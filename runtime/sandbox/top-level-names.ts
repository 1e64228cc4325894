import { type Pattern, parse, type Statement } from 'acorn'

/** A name that a script declares at its top level, with its line (from 1) and column (from 1). */
export type TopLevelName = { readonly name: string; readonly line: number; readonly column: number }

/**
 * The names that a script declares at its top level, so that two files of one folder cannot silently replace each
 * other's functions. `var` inside blocks counts too, since it is top-level as well.
 * @returns an empty list for a script that acorn cannot parse: whether it is a script at all is V8's to say
 */
export function topLevelNames(source: string): TopLevelName[] {
  const names: TopLevelName[] = []
  try {
    const program = parse(source, { ecmaVersion: 'latest', sourceType: 'script', locations: true })
    for (const statement of program.body) collect(statement as Statement, true, names)
  } catch {
    return []
  }
  return names
}

/**
 * The functions that a script declares at its top level, each name once: declarations, and variables that start as a
 * function or arrow function. Chosen here: what else a variable may come to hold is not looked for.
 * @returns null for a script that acorn cannot parse
 */
export function topLevelFunctions(source: string): string[] | null {
  const names = new Set<string>()
  try {
    for (const statement of parse(source, { ecmaVersion: 'latest', sourceType: 'script' }).body) {
      if (statement.type === 'FunctionDeclaration') names.add(statement.id.name)
      if (statement.type !== 'VariableDeclaration') continue
      for (const { id, init } of statement.declarations) {
        const isFunction = init?.type === 'FunctionExpression' || init?.type === 'ArrowFunctionExpression'
        if (isFunction && id.type === 'Identifier') names.add(id.name)
      }
    }
  } catch {
    return null
  }
  return [...names]
}

function collect(statement: Statement, top: boolean, names: TopLevelName[]): void {
  switch (statement.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      if (top && statement.id) add(statement.id, names)
      return
    case 'VariableDeclaration':
      if (top || statement.kind === 'var') for (const one of statement.declarations) pattern(one.id, names)
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

function pattern(target: Pattern, names: TopLevelName[]): void {
  switch (target.type) {
    case 'Identifier':
      add(target, names)
      return
    case 'ArrayPattern':
      for (const element of target.elements) if (element) pattern(element, names)
      return
    case 'ObjectPattern':
      for (const property of target.properties) {
        pattern(property.type === 'RestElement' ? property.argument : property.value, names)
      }
      return
    case 'AssignmentPattern':
      pattern(target.left, names)
      return
    case 'RestElement':
      pattern(target.argument, names)
      return
    default:
      return
  }
}

function add(
  identifier: { name: string; loc?: { start: { line: number; column: number } } | null },
  names: TopLevelName[],
): void {
  const start = identifier.loc?.start ?? { line: 1, column: 0 }
  names.push({ name: identifier.name, line: start.line, column: start.column + 1 })
}
