import type { Program } from 'acorn'
import type { Scope, ScopeManager } from 'eslint-scope'
import { type AnyNode, chainOf, isStrictAt, nodeOf, type Path, type Report, walk } from './syntax-tree.ts'

// Two differences between sloppy and strict functions: the value of `this` in a call without an object, and
// `arguments`.

const NO_THIS = 'in the hardened realm, "this" is undefined in a function that is called without an object'
const NO_THIS_HERE =
  'in the hardened realm, "this" is undefined if the function is called in this file without an object'
const ADVICE = 'use a parameter, a variable or "globals"'

/** Finds uses of `this` and `arguments` in sloppy functions that would work differently in strict functions. */
export function findCalleeDifferences(program: Program, scopes: ScopeManager, report: Report): void {
  const constructed = constructedNames(program)
  walk(program, (node, path) => {
    if (node.type === 'ThisExpression') findThis(node, path, constructed, report)
    if (node.type === 'MemberExpression') findCallee(node, path, report)
  })
  findAliases(scopes, report)
}

/** Returns the names that the script uses with `new`. */
function constructedNames(program: Program): ReadonlySet<string> {
  const names = new Set<string>()
  walk(program, (node) => {
    const callee = node.callee as AnyNode | undefined
    if (node.type === 'NewExpression' && callee?.type === 'Identifier') names.add(callee.name as string)
  })
  return names
}

function findThis(node: AnyNode, path: Path, constructed: ReadonlySet<string>, report: Report): void {
  const at = ownerIndex(path)
  const owner = path[at]
  // At the top level, `this` is the global object in both realms.
  if (owner === undefined) return
  const isStrict = isStrictAt(path)
  const use = useOf(node, path)
  const how = kindOf(owner, path, at, constructed)
  const isShown = how === 'declared' && path[at - 1]?.type === 'Program'
  if (isStrict) {
    // If another file calls the function by its name, `this` is the global object.
    if (isShown && use === 'test') report(node, `${NO_THIS_HERE}: ${ADVICE}`)
    return
  }
  if (use === 'passed' && how !== 'called') return
  if (use === 'test')
    report(
      node,
      `scripts run in strict mode in the hardened realm, so this test of "this" works differently: ${ADVICE}`,
    )
  else if (how === 'called' || (how === 'constant' && use === 'member')) report(node, `${NO_THIS}: ${ADVICE}`)
  else if (use === 'value' && how !== 'method' && how !== 'constructor') report(node, `${NO_THIS}: ${ADVICE}`)
}

/** Returns the index of the function, field or block that determines `this` here; -1 at the top level. */
function ownerIndex(path: Path): number {
  for (let index = path.length - 1; index >= 0; index--) {
    const { type } = path[index] as AnyNode
    if (type === 'FunctionDeclaration' || type === 'FunctionExpression') return index
    if (type === 'PropertyDefinition' || type === 'StaticBlock') return index
  }
  return -1
}

type Use = 'member' | 'passed' | 'instance' | 'test' | 'value'

function useOf(node: AnyNode, path: Path): Use {
  const parent = path.at(-1) as AnyNode
  const { type, operator } = parent
  if (type === 'MemberExpression' && parent.object === node) return 'member'
  if (type === 'UnaryExpression') return 'test'
  if (type === 'BinaryExpression') return operator === 'instanceof' && parent.left === node ? 'instance' : 'test'
  if (type === 'LogicalExpression' && parent.left === node) return 'test'
  if (
    (type === 'ConditionalExpression' || type === 'IfStatement' || type === 'WhileStatement') &&
    parent.test === node
  ) {
    return 'test'
  }
  const callee = parent.callee as AnyNode | undefined
  const method = (callee?.property as AnyNode | undefined)?.name
  const isPassedOn = method === 'call' || method === 'apply' || method === 'bind'
  if (type === 'CallExpression' && isPassedOn && (parent.arguments as AnyNode[])[0] === node) return 'passed'
  return 'value'
}

type Kind = 'method' | 'constructor' | 'called' | 'constant' | 'declared' | 'other'

function kindOf(owner: AnyNode, path: Path, at: number, constructed: ReadonlySet<string>): Kind {
  const parent = path[at - 1]
  if (owner.type === 'PropertyDefinition' || owner.type === 'StaticBlock') return 'method'
  const name = nameOf(owner, parent)
  if (name !== null && (/^[A-Z]/.test(name) || constructed.has(name))) return 'constructor'
  if (owner.type === 'FunctionDeclaration') return 'declared'
  if (parent?.type === 'Property' || parent?.type === 'MethodDefinition') return 'method'
  if (parent?.type === 'AssignmentExpression') {
    return (parent.left as AnyNode).type === 'MemberExpression' ? 'method' : 'other'
  }
  if (parent?.type === 'CallExpression' && parent.callee === owner) return 'called'
  const isTopLevel = path[at - 2]?.type === 'VariableDeclaration' && path[at - 3]?.type === 'Program'
  if (isTopLevel && path[at - 2]?.kind !== 'var') return 'constant'
  return 'other'
}

function nameOf(owner: AnyNode, parent: AnyNode | undefined): string | null {
  const holder = (owner.id ??
    parent?.id ??
    (parent?.type === 'AssignmentExpression' ? parent.left : null)) as AnyNode | null
  return holder?.type === 'Identifier' ? (holder.name as string) : null
}

function findCallee(node: AnyNode, path: Path, report: Report): void {
  const object = node.object as AnyNode
  const { name } = nodeOf(node.property)
  if (object.type !== 'Identifier' || object.name !== 'arguments' || name !== 'callee' || isStrictAt(path)) return
  report(node, '"arguments.callee" is an error in the hardened realm: give the function a name and use it')
}

/** In a sloppy function, `arguments[0]` and the first parameter are one variable. In a strict one, they are two. */
function findAliases(scopes: ScopeManager, report: Report): void {
  for (const scope of scopes.scopes) {
    if (scope.type !== 'function' || scope.isStrict) continue
    const given = scope.set.get('arguments')
    const isUsed = (given?.references.length ?? 0) > 0
    const block = nodeOf(scope.block)
    const params = (block.params ?? []) as AnyNode[]
    if (!isUsed || params.length === 0 || params.some(({ type }) => type !== 'Identifier')) continue
    for (const { name } of params) {
      const written = scope.set.get(`${name}`)?.references.find((reference) => reference.isWrite())
      if (written === undefined) continue
      const node = nodeOf(written.identifier)
      report(node, `"arguments" keeps the old value of "${name}" in the hardened realm: use another variable`)
    }
    const isRead = params.some(({ name }) => (scope.set.get(`${name}`)?.references.length ?? 0) > 0)
    for (const { identifier } of given?.references ?? []) {
      const node = nodeOf(identifier)
      if (aliasesOf(block, node, scope).some((one) => isChanged(block, one) || (isRead && isGivenAway(block, one)))) {
        report(
          node,
          'a change to "arguments" does not change the parameters in the hardened realm: assign to the parameter, or pass [...arguments]',
        )
      }
    }
  }
}

/**
 * Returns all uses of the variable that this use of `arguments` initializes, or only this use if there is no variable.
 */
function aliasesOf(block: AnyNode, used: AnyNode, scope: Scope): AnyNode[] {
  let name: unknown = null
  walk(block, (node) => {
    if (node.type === 'VariableDeclarator' && node.init === used) name = (node.id as AnyNode).name
  })
  if (typeof name !== 'string') return [used]
  return (scope.set.get(name)?.references ?? []).map(({ identifier }) => nodeOf(identifier))
}

const CHANGING = new Set(['shift', 'pop', 'push', 'unshift', 'splice', 'reverse', 'sort', 'fill', 'copyWithin'])
const READING = /^(?:Array\.from|Object\.(?:keys|values|entries|assign)|JSON\.stringify|console\.\w+)$/

/** Whether the function passes this use of `arguments` to code that can change its elements. */
function isGivenAway(block: AnyNode, used: AnyNode): boolean {
  let isFound = false
  walk(block, (node) => {
    if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return
    const at = (node.arguments as AnyNode[]).indexOf(used)
    if (at < 0) return
    const callee = node.callee as AnyNode
    const name = callee.type === 'MemberExpression' ? nodeOf(callee.property).name : null
    const chain = chainOf(callee)
    const path = chain === null ? '' : [chain.root.name, ...chain.names].join('.')
    if ((name === 'call' || name === 'apply') && at === 0) isFound ||= CHANGING.has(`${methodOf(callee)}`)
    else if (name !== 'apply') isFound ||= !READING.test(path)
  })
  return isFound
}

/** Returns the method's name, such as `shift` for `[].shift.call`. */
function methodOf({ object }: AnyNode): unknown {
  return ((object as AnyNode | undefined)?.property as AnyNode | undefined)?.name
}

/** Whether the function assigns to an element of `arguments` through this reference. */
function isChanged(block: AnyNode, used: AnyNode): boolean {
  let isFound = false
  walk(block, (node) => {
    const target = (
      node.type === 'AssignmentExpression' ? node.left : node.type === 'UpdateExpression' ? node.argument : null
    ) as AnyNode | null
    if (target?.type === 'MemberExpression' && target.object === used) isFound = true
  })
  return isFound
}
