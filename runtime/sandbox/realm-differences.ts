import { parse } from 'acorn'
import { analyze, type Reference, type ScopeManager } from 'eslint-scope'
import { findCalleeDifferences } from './realm-callees.ts'
import { FROZEN_GLOBALS, OF_GLOBAL, RESERVED_GLOBALS } from './realm-globals.ts'
import { type AnyNode, chainOf, isStrictAt, nodeOf, type Path, placeOf, type Report, walk } from './syntax-tree.ts'
import { parseScript, topLevelNamesOf } from './top-level-names.ts'

export type Difference = { readonly line: number; readonly column: number; readonly message: string }

/** Maximum number of reported differences. Chosen here: authors can fix these and check again. */
const MOST = 100
const STRICT = `'use strict';`
/** Functions that change their first argument. */
const CHANGERS: ReadonlySet<string> = new Set([
  'Object.defineProperty',
  'Object.defineProperties',
  'Object.assign',
  'Object.setPrototypeOf',
  'Reflect.defineProperty',
  'Reflect.set',
  'Reflect.deleteProperty',
  'Reflect.setPrototypeOf',
])
/** Functions that can change the global object, which is not shared between calls. */
const GLOBAL_CHANGERS: ReadonlySet<string> = new Set([...CHANGERS].filter((name) => !name.endsWith('.setPrototypeOf')))
const READERS: ReadonlySet<string> = new Set([
  'Object.getOwnPropertyDescriptor',
  'Object.getOwnPropertyDescriptors',
  'Reflect.getOwnPropertyDescriptor',
  'Object.isFrozen',
  'Object.isSealed',
  'Object.isExtensible',
  'Reflect.isExtensible',
])

/**
 * Finds the code in a script that works differently in the hardened realm, as far as the text shows this.
 * @param declared the top-level names of all scripts
 * @returns an empty list for a script that cannot be parsed: V8 reports its errors
 */
export function findDifferences(source: string, declared: ReadonlySet<string>): Difference[] {
  const program = parseScript(source)
  if (program === null) return []
  const found: Difference[] = []
  const report: Report = (node, message) => void found.push({ ...placeOf(node), message })
  const syntax = strictFault(source)
  if (syntax !== null) return [syntax]
  const scopes = analyze(program as Parameters<typeof analyze>[0], { ecmaVersion: 2024, sourceType: 'script' })
  const own = topLevelNamesOf(program)
  const ownNames = new Set(own.map(({ name }) => name))
  const free = (scopes.globalScope?.through ?? []).filter(({ identifier }) => !ownNames.has(`${identifier.name}`))
  const freeNodes = new Set<unknown>(free.map(({ identifier }) => identifier))
  for (const { name, line, column } of own) {
    if (!RESERVED_GLOBALS.has(name)) continue
    const message = `"${name}" is a platform global, so scripts can't declare it in the hardened realm: rename it`
    found.push({ line, column, message })
  }
  findFreeNames(free, declared, report)
  walk(program, (node, path) => {
    findChanges(node, freeNodes, report)
    findBlockFunction(node, path, scopes, report)
  })
  findCalleeDifferences(program, scopes, report)
  return found.sort((a, b) => a.line - b.line || a.column - b.column).slice(0, MOST)
}

function strictFault(source: string): Difference | null {
  try {
    parse(`${STRICT}${source}`, { ecmaVersion: 'latest', sourceType: 'script' })
    return null
  } catch (error) {
    const { message, loc } = error as Error & { loc?: { line: number; column: number } }
    const { line, column } = loc ?? { line: 1, column: STRICT.length }
    const reason = message.replace(/ \(\d+:\d+\)$/, '')
    return {
      line,
      column: Math.max(0, line === 1 ? column - STRICT.length : column) + 1,
      message: `scripts in the hardened realm run in strict mode: ${reason}`,
    }
  }
}

function findFreeNames(free: readonly Reference[], declared: ReadonlySet<string>, report: Report): void {
  for (const reference of free) {
    const node = nodeOf(reference.identifier)
    const name = `${reference.identifier.name}`
    if (name === 'eval') report(node, 'the hardened realm has no eval: write a function instead')
    else if (name === 'arguments') report(node, '"arguments" exists only in functions: use another name')
    else if (!reference.isWrite() || declared.has(name)) continue
    else if (RESERVED_GLOBALS.has(name)) {
      report(
        node,
        `"${name}" is a platform global, so scripts can't replace it in the hardened realm: use another name`,
      )
    } else {
      report(
        node,
        `"${name}" is not declared, so assigning to it is an error in the hardened realm: declare it with var or let`,
      )
    }
  }
}

/** Reports changes to built-in objects, and code that is compiled from text. */
function findChanges(node: AnyNode, free: ReadonlySet<unknown>, report: Report): void {
  switch (node.type) {
    case 'AssignmentExpression':
    case 'ForInStatement':
    case 'ForOfStatement':
      for (const target of targetsIn(node.left as AnyNode)) reportChange(target, free, report)
      return
    case 'UpdateExpression':
      reportChange(node.argument as AnyNode, free, report)
      return
    case 'UnaryExpression':
      if (node.operator === 'delete') reportChange(node.argument as AnyNode, free, report)
      return
    case 'NewExpression':
    case 'CallExpression':
      reportCall(node, free, report)
      return
    case 'MemberExpression': {
      const path = pathOf(node, free)
      if (path === 'eval' && node.property !== undefined) {
        report(node, 'the hardened realm has no eval: write a function instead')
      }
      return
    }
  }
}

function targetsIn(target: AnyNode): AnyNode[] {
  if (target.type === 'ArrayPattern')
    return (target.elements as (AnyNode | null)[]).flatMap((one) => (one ? targetsIn(one) : []))
  if (target.type === 'ObjectPattern') return (target.properties as AnyNode[]).flatMap(targetsIn)
  if (target.type === 'Property') return targetsIn(target.value as AnyNode)
  if (target.type === 'RestElement') return targetsIn(target.argument as AnyNode)
  if (target.type === 'AssignmentPattern') return targetsIn(target.left as AnyNode)
  return target.type === 'MemberExpression' ? [target] : []
}

function reportChange(target: AnyNode, free: ReadonlySet<unknown>, report: Report): void {
  const path = pathOf(target, free)
  if (path === null) return
  const [root = ''] = path.split('.', 1)
  if (!FROZEN_GLOBALS.has(root) && !RESERVED_GLOBALS.has(path)) return
  report(
    target,
    `"${path}" can't be changed in the hardened realm, because all sign-ins share it: use your own function or variable`,
  )
}

/**
 * Returns the path from a global, such as `Math.x` for `Math.x` and `globalThis.Math.x`; null for any other expression.
 */
function pathOf(node: AnyNode, free: ReadonlySet<unknown>): string | null {
  const chain = chainOf(node)
  if (chain === null || !free.has(chain.root)) return null
  const names = [chain.root.name as string, ...chain.names.map((name) => name ?? '[…]')]
  while (names.length > 1 && OF_GLOBAL.has(names[0] ?? '')) names.shift()
  return names.join('.')
}

function reportCall(node: AnyNode, free: ReadonlySet<unknown>, report: Report): void {
  const callee = node.callee as AnyNode
  const path = pathOf(callee, free)
  const [first] = node.arguments as AnyNode[]
  if (path === 'Function') {
    report(node, 'the hardened realm has no Function constructor: write a function instead')
  } else if (path !== null && first !== undefined && CHANGERS.has(path)) {
    const isOfCall = GLOBAL_CHANGERS.has(path) && OF_GLOBAL.has(pathOf(first, free) ?? '')
    if (!isOfCall) reportChange(first, free, report)
  } else if (path !== null && first !== undefined && READERS.has(path)) {
    const [root = ''] = (pathOf(first, free) ?? '').split('.', 1)
    if (FROZEN_GLOBALS.has(root) || OF_GLOBAL.has(root)) {
      report(
        first,
        `property descriptors of "${pathOf(first, free)}" differ in the hardened realm: read the property itself`,
      )
    }
  } else if (path !== null && /\.__define(?:G|S)etter__$/.test(path)) {
    reportChange((callee.object as AnyNode | undefined) ?? callee, free, report)
  }
}

/** In sloppy code, a function in a block is also visible outside the block. In strict code, it is not. */
function findBlockFunction(node: AnyNode, path: Path, scopes: ScopeManager, report: Report): void {
  if (node.type !== 'FunctionDeclaration' || isStrictAt(path)) return
  const parent = path.at(-1)
  if (parent?.type !== 'BlockStatement' && parent?.type !== 'SwitchCase') return
  const holder = path.at(-2)
  const isBody = holder !== undefined && holder.body === parent && holder.type.includes('Function')
  if (isBody) return
  const { name } = nodeOf(node.id)
  const block = parent.type === 'SwitchCase' ? holder : parent
  const [from, to] = (block?.range ?? [0, 0]) as [number, number]
  const around = [...path].reverse().find(({ type }) => type === 'Program' || type.includes('Function'))
  const [first, last] = (around?.range ?? [0, 0]) as [number, number]
  const isOutside = scopes.scopes.some((scope) =>
    scope.references.some(({ identifier }) => {
      const [start = 0] = identifier.range ?? []
      return identifier.name === name && start >= first && start < last && (start < from || start >= to)
    }),
  )
  if (!isOutside) return
  report(
    node.id as AnyNode,
    `in the hardened realm, "${name}" exists only in this block: move the function out of the block`,
  )
}
