import { counted } from '../../../base/program/counted.ts'
import type { DevFinding, DevLine, DevReport, HostFrame } from '../frames.ts'
import { sourceText } from './source-text.ts'

// Shows developers the report of `solhost dev`. Errors are in a dialog above the page; warnings and the log are in a
// strip below it. Only pages of `solhost dev` load this script. Messages may contain text from scripts and files, so
// they are never inserted as HTML. Chosen here: the texts are in English, like the messages of `solhost dev` in the
// terminal.

const dialog = createDialog()
const strip = createStrip()
/** The errors that were last shown. After the user has closed the dialog, the same errors don't open it again. */
let seen = ''

addEventListener('solhost-frame', ({ detail }: CustomEventInit<HostFrame>) => {
  if (detail?.kind === 'dev') show(detail.report)
})

function show({ faults, warnings, lines }: DevReport): void {
  dialog.list.replaceChildren(...faults.map((one) => findingBox(one, 'error')))
  dialog.title.textContent = counted(faults.length, 'error')
  strip.show(faults.length, warnings, lines)
  const now = JSON.stringify(faults)
  if (faults.length === 0) dialog.element.close()
  else if (now !== seen && !dialog.element.open) dialog.element.showModal()
  seen = now
}

function createDialog() {
  const element = make('dialog', 'dev-errors')
  element.role = 'alertdialog'
  element.lang = 'en'
  element.dir = 'ltr'
  const title = make('h2', '')
  title.id = 'dev-errors-title'
  element.setAttribute('aria-labelledby', title.id)
  const close = make('button', 'button secondary', 'Close')
  close.type = 'button'
  close.addEventListener('click', () => element.close())
  const head = make('div', 'dev-head')
  head.append(title, close)
  const list = make('div', 'dev-list')
  // Make the log a Tab stop, so that users can scroll it with the keyboard.
  list.tabIndex = 0
  list.role = 'group'
  list.setAttribute('aria-labelledby', title.id)
  const hint = make('p', 'dev-hint', 'The page below still works. Fix the error and save to close this message.')
  element.append(head, list, hint)
  document.body.append(element)
  return { element, title, list }
}

function createStrip() {
  const element = make('aside', 'dev-strip')
  element.lang = 'en'
  element.dir = 'ltr'
  element.setAttribute('aria-label', 'solhost dev')
  const open = make('button', 'dev-open')
  open.type = 'button'
  open.hidden = true
  open.addEventListener('click', () => dialog.element.showModal())
  const details = make('details', '')
  const summary = make('summary', '')
  const body = make('div', 'dev-lines')
  body.tabIndex = 0
  body.role = 'group'
  body.setAttribute('aria-label', 'Warnings and log')
  details.append(summary, body)
  element.append(open, details)
  element.hidden = true
  document.body.append(element)
  return {
    show(faults: number, warnings: readonly DevFinding[], lines: readonly DevLine[]): void {
      open.hidden = faults === 0
      open.textContent = counted(faults, 'error')
      const parts = [counted(warnings.length, 'warning'), counted(lines.length, 'log line')]
      summary.textContent = parts.join(', ')
      body.replaceChildren(...warnings.map((one) => findingBox(one, 'warning')), ...lines.map(lineBox))
      details.hidden = warnings.length + lines.length === 0
      element.hidden = open.hidden && details.hidden
      body.scrollTop = body.scrollHeight
    },
  }
}

function findingBox({ place, code, message, source, advice }: DevFinding, kind: 'error' | 'warning'): HTMLElement {
  const box = make('section', `dev-finding ${kind}`)
  const head = make('p', 'dev-place')
  head.append(make('code', '', place), ` ${kind} ${code}`)
  box.append(head, make('p', 'dev-message', message))
  if (source !== null) {
    const pre = make('pre', 'dev-source', sourceText(source))
    pre.tabIndex = 0
    pre.role = 'group'
    pre.setAttribute('aria-label', `Source of ${place}`)
    box.append(pre)
  }
  if (advice !== null) box.append(make('p', 'dev-advice', advice))
  return box
}

function lineBox({ time, level, place, text }: DevLine): HTMLElement {
  const line = make('p', `dev-line ${level}`)
  line.append(make('code', '', `${new Date(time).toLocaleTimeString('en-GB')} ${level}`), ` ${text}`)
  if (place !== '') line.append(' ', make('code', 'dev-at', place))
  return line
}

function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  text = '',
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  if (className !== '') element.className = className
  element.textContent = text
  return element
}
