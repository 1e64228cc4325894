import type { DefaultTreeAdapterTypes as Tree } from 'parse5'
import { attributeValue, inputType } from './attribute-places.ts'
import { childrenOf, isElement, isEmptyTableForm, isHtml, isTablePart } from './serialise.ts'

/** The elements that a login page must have, and other facts about the form that the host needs. */
export type LoginForm = {
  readonly form: Tree.Element | null
  /** For each input name that the host needs: the first input with this name in the form, if there is one. */
  readonly inputs: ReadonlyMap<string, Tree.Element>
  readonly errorLabel: Tree.Element | null
  /** The notice is inserted after this element; if null, at the start of the form. */
  readonly noticeAfter: Tree.Element | null
  /** Buttons and inputs that submit the form or might submit it. */
  readonly owned: ReadonlySet<Tree.Element>
}

const NEEDED = new Set(['username', 'password', 'remember', 'id_token'])

/** Finds the form and its elements in one walk. The content of `<template>` is not part of the page. */
export function findLoginForm(document: Tree.Document): LoginForm {
  const elements = listElements(document)
  const form =
    elements.find(({ node }) => isHtml(node, 'form') && attributeValue(node, 'name') === 'login_form')?.node ?? null
  const id = form && attributeValue(form, 'id')
  const errorLabel = elements.find(({ node }) => attributeValue(node, 'id') === 'errorlabel')?.node ?? null
  const owned = new Set(form ? elements.filter((entry) => isOwned(entry, form, id)).map(({ node }) => node) : [])
  const inputs = new Map<string, Tree.Element>()
  for (const node of owned) {
    const name = isHtml(node, 'input') ? attributeValue(node, 'name') : null
    if (name !== null && NEEDED.has(name) && !inputs.has(name)) inputs.set(name, node)
  }
  return { form, inputs, errorLabel, noticeAfter: findNoticePlace(form, errorLabel), owned }
}

type Listed = {
  readonly node: Tree.Element
  /** The form that the parser assigns to the element: its nearest ancestor, or one inside the same table. */
  readonly owner: Tree.Element | null
}

function listElements(document: Tree.Document): Listed[] {
  const listed: Listed[] = []
  let tableForm: { readonly form: Tree.Element; readonly depth: number } | null = null
  const open: { readonly nodes: readonly Tree.ChildNode[]; index: number; readonly owner: Tree.Element | null }[] = [
    { nodes: document.childNodes, index: 0, owner: null },
  ]
  for (let top = open.at(-1); top; top = open.at(-1)) {
    const node = top.nodes[top.index++]
    if (node === undefined) {
      open.pop()
      if (tableForm && open.length < tableForm.depth) tableForm = null
    } else if (isElement(node)) {
      const isForm = isHtml(node, 'form')
      if (isForm && isEmptyTableForm(node)) tableForm ??= { form: node, depth: tableDepth(open.length, node) }
      listed.push({ node, owner: top.owner ?? tableForm?.form ?? null })
      if (!isHtml(node, 'template')) open.push({ nodes: childrenOf(node), index: 0, owner: isForm ? node : top.owner })
    }
  }
  return listed
}

/**
 * Returns the depth of the outermost table around a form, on the same scale as `depth`, which is the form's own depth.
 */
function tableDepth(depth: number, form: Tree.Element): number {
  let found = depth
  let at = depth
  for (let parent = form.parentNode; parent && isElement(parent); parent = parent.parentNode) {
    if (isHtml(parent, 'table')) found = at
    at--
  }
  return found
}

function isOwned({ node, owner }: Listed, form: Tree.Element, id: string | null): boolean {
  const named = attributeValue(node, 'form')
  return named === null ? owner === form : named !== '' && named === id
}

/** Elements that can't contain a paragraph. */
const NO_PARAGRAPH: ReadonlySet<string> = new Set(
  'p select option optgroup head html title textarea frameset ruby rt rp dl dir menu ul ol button'.split(' '),
)

/** Returns the error label, or the nearest ancestor after which a paragraph is allowed. */
function findNoticePlace(form: Tree.Element | null, errorLabel: Tree.Element | null): Tree.Element | null {
  const start = errorLabel ?? (form && isInTable(form) ? form : null)
  let place = start
  for (let parent = start?.parentNode; parent && isElement(parent); parent = parent.parentNode) {
    if (isHtml(parent, 'body')) return place
    const allowed = isHtml(parent, parent.tagName) && !NO_PARAGRAPH.has(parent.tagName) && !isTablePart(parent)
    if (!allowed) place = parent
  }
  return form && !isInTable(form) ? null : start
}

function isInTable(form: Tree.Element): boolean {
  return form.parentNode !== null && isElement(form.parentNode) && isTablePart(form.parentNode)
}

/** Returns the required elements that are missing; empty if the page has all of them. */
export function missingEssentials({ form, inputs }: LoginForm): string[] {
  if (!form) return ['a form with name="login_form"']
  return ['username', 'password']
    .filter((name) => !inputs.has(name))
    .map((name) => `an input with name="${name}" in the login form`)
}

export type MissingElement = { readonly element: Tree.Element | null; readonly message: string }

/** Returns the recommended elements that are missing. A login page works without them. */
export function missingElements({ form, inputs, errorLabel }: LoginForm): MissingElement[] {
  const missing: MissingElement[] = []
  const need = (holds: boolean, element: Tree.Element | null, message: string) => {
    if (!holds) missing.push({ element, message })
  }
  const has = (name: string, value: string) => form !== null && attributeValue(form, name)?.toLowerCase() === value
  const ofType = (name: string, type: string) =>
    inputs.has(name) && inputType(inputs.get(name) as Tree.Element) === type
  if (form) {
    need(has('method', 'post'), form, 'the login form is always sent with POST; write method="post"')
    need(has('accept-charset', 'utf-8'), form, 'the login form has no accept-charset="UTF-8"; add it')
    need(has('role', 'form'), form, 'the login form has no role="form"; add it')
  }
  const input = (name: string, type: string, why: string) =>
    need(
      ofType(name, type),
      inputs.get(name) ?? form,
      inputs.has(name)
        ? `${why}; write <input type="${type}" name="${name}"> instead`
        : `${why}; add <input type="${type}" name="${name}"> to the login form`,
    )
  if (inputs.has('username')) input('username', 'text', 'the input "username" is not of type text')
  if (inputs.has('password'))
    input(
      'password',
      'password',
      'the input "password" is not of type password, so the password is visible while users type it',
    )
  input('remember', 'checkbox', 'users cannot choose to be remembered')
  input('id_token', 'hidden', 'automatic sign-in does not work')
  const example = '<p id="errorlabel" class="errorlabel">'
  need(errorLabel !== null, form, `users do not see that a sign-in failed; add ${example}`)
  const classes = (errorLabel && attributeValue(errorLabel, 'class'))?.split(/\s+/) ?? []
  need(
    !errorLabel || classes.includes('errorlabel'),
    errorLabel,
    `the error label has no class "errorlabel"; write ${example}`,
  )
  return missing
}
