import type { Node, Program } from 'acorn'

/** A syntax node of any type, with its child nodes. */
export type AnyNode = Node & { readonly [part: string]: unknown; readonly type: string }

/** A node's ancestors, from the program to the node's parent. */
export type Path = readonly AnyNode[]

/** Reports that the code at a node behaves differently in the hardened realm. */
export type Report = (node: AnyNode, message: string) => void

/** Gives access to all of a node's properties, because the library's types don't list them. */
export function nodeOf(node: unknown): AnyNode {
  return node as AnyNode
}

/** Calls `visit` for each node, in file order. */
export function walk(program: Program | AnyNode, visit: (node: AnyNode, path: Path) => void): void {
  const path: AnyNode[] = []

  function enter(node: AnyNode): void {
    visit(node, path)
    path.push(node)
    for (const part of Object.values(node)) {
      if (Array.isArray(part)) for (const one of part) enterIfNode(one)
      else enterIfNode(part)
    }
    path.pop()
  }

  function enterIfNode(value: unknown): void {
    if (typeof value === 'object' && value !== null && typeof (value as AnyNode).type === 'string') {
      enter(value as AnyNode)
    }
  }

  enter(nodeOf(program))
}

export function isFunction({ type }: AnyNode): boolean {
  return type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression'
}

/** Whether code at this path is strict: in a class, or in the scope of a "use strict" directive. */
export function isStrictAt(path: Path): boolean {
  return path.some((node) => {
    if (node.type === 'ClassDeclaration' || node.type === 'ClassExpression') return true
    const body = node.type === 'Program' ? node : (node.body as AnyNode | undefined)
    if (node.type !== 'Program' && !isFunction(node)) return false
    const statements = body?.body
    return (
      Array.isArray(statements) && (statements as AnyNode[]).some((statement) => statement.directive === 'use strict')
    )
  })
}

/** Returns the line and column, both counted from 1. */
export function placeOf(node: Node): { line: number; column: number } {
  const { line, column } = node.loc?.start ?? { line: 1, column: 0 }
  return { line, column: column + 1 }
}

/**
 * Splits a chain of members: `a.b.c` becomes `a` and `['b', 'c']`. A computed name that is not a string becomes null.
 * Returns null for any other expression.
 */
export function chainOf(node: AnyNode): { readonly root: AnyNode; readonly names: readonly (string | null)[] } | null {
  const names: (string | null)[] = []
  let at = node
  while (at.type === 'MemberExpression' || at.type === 'ChainExpression' || at.type === 'ParenthesizedExpression') {
    if (at.type !== 'MemberExpression') at = at.expression as AnyNode
    else {
      const property = at.property as AnyNode
      const name = at.computed === true ? property.value : property.name
      names.unshift(typeof name === 'string' ? name : null)
      at = at.object as AnyNode
    }
  }
  return at.type === 'Identifier' ? { root: at, names } : null
}
