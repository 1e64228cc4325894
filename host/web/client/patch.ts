import { Idiomorph } from 'idiomorph'
import type { Change } from '../frames.ts'
import { type Control, controlsIn, forgetSent, isAhead, isControl, markReceived, takeHostValue } from './controls.ts'
import { closeLeaveDialog } from './leave-dialog.ts'
import { forgetOpened, keepOpened } from './tabs.ts'
import { forgetInput } from './unsaved-input.ts'
import { isOfRegion } from './wide-tables.ts'

/** True while a patch is applied: focus changes are then not caused by the user. */
let isPatching = false

export function isBeingPatched(): boolean {
  return isPatching
}

/**
 * Applies changed elements. The focus, the caret and newer input are preserved.
 * @param seq the last event whose effects are in the changes
 */
export function applyChanges(changes: readonly Change[], seq: number): void {
  isPatching = true
  const focused = document.activeElement
  const around = focused?.closest('.element') ?? null
  for (const { id, html } of changes) {
    const target = document.getElementById(id)
    if (target !== null) morph(target, html, seq)
  }
  keepFocus(focused, around)
  isPatching = false
}

/** Call this when the form's client has ended: disables the form, so that its input does not get into the next form. */
export function awaitForm(root: HTMLElement): void {
  root.inert = true
}

export function showForm(root: HTMLElement, html: string, seq: number): void {
  const shown = root.querySelector<HTMLElement>('form[data-form]')
  const next = new DOMParser().parseFromString(html, 'text/html').querySelector<HTMLElement>('form[data-form]')
  if (next === null) return
  if (shown !== null && shown.id === next.id && !root.inert) {
    applyChanges([{ id: shown.id, html }], seq)
    return
  }
  isPatching = true
  forgetSent()
  forgetOpened()
  forgetInput()
  closeLeaveDialog()
  root.replaceChildren(document.adoptNode(next))
  root.inert = false
  root.removeAttribute('aria-busy')
  // Focus the title, so that screen readers start there. The page's first form leaves the focus unchanged.
  if (shown !== null) next.querySelector<HTMLElement>('h1')?.focus()
  window.scrollTo(0, 0)
  isPatching = false
}

function morph(target: HTMLElement, html: string, seq: number): void {
  const ahead = new Set<Control>(controlsIn(target).filter((control) => isAhead(control, seq)))
  const patch = new DOMParser().parseFromString(`<body>${html}`, 'text/html')
  keepOpened(patch, seq)
  Idiomorph.morph(target, patch.body.firstElementChild, {
    morphStyle: 'outerHTML',
    callbacks: {
      beforeNodeMorphed(node, next) {
        // Keep the text of this element, because the page itself sets it.
        if (node instanceof Element && node.matches('.unsaved')) return false
        keepReachable(node, next)
        if (isControl(node) && next instanceof Element && next.hasAttribute('data-kept')) ahead.add(node)
        return true
      },
      // Returning `true` allows the change.
      beforeAttributeUpdated: (name, element) => !isOfUser(name, element, ahead) && !isOfRegion(name, element),
      afterNodeMorphed(node, next) {
        if (!isControl(node) || !(next instanceof Element)) return
        if (ahead.has(node)) {
          takeHostValue(node, next)
          return
        }
        if (node instanceof HTMLSelectElement && next instanceof HTMLSelectElement) node.value = next.value
        markReceived(node)
      },
    },
  })
}

/** A disabled button would lose the focus. So while it is focused, it gets `aria-disabled` instead, see `rest`. */
function keepReachable(node: Node, next: Node): void {
  if (node !== document.activeElement || !(next instanceof HTMLButtonElement) || !next.disabled) return
  next.disabled = false
  next.setAttribute('aria-disabled', 'true')
}

/** Disables a button that could not be disabled while it had the focus. Pager buttons only use `aria-disabled`. */
export function rest(button: HTMLButtonElement): void {
  if (!button.matches('[aria-disabled=true]:not([data-page])')) return
  button.disabled = true
  button.removeAttribute('aria-disabled')
}

/** Whether an attribute contains user input that the host does not have yet. */
function isOfUser(name: string, element: Element, ahead: ReadonlySet<Control>): boolean {
  if (name === 'selected') {
    const select = element.closest('select')
    return select !== null && ahead.has(select)
  }
  return (name === 'value' || name === 'checked') && isControl(element) && ahead.has(element)
}

/** If the focused element was removed, focuses the element that replaces it. */
function keepFocus(focused: Element | null, around: Element | null): void {
  if (focused === null || focused === document.body || focused.isConnected) return
  const same = focused.id === '' ? null : document.getElementById(focused.id)
  const place = around === null ? null : document.getElementById(around.id)
  const next =
    same ??
    place?.querySelector<HTMLElement>('button, a[href], input, select, textarea, [tabindex]') ??
    document.querySelector<HTMLElement>('form[data-form] h1')
  next?.focus()
}
