import type { Fault, Problem } from './api.ts'
import { scriptText } from './question.ts'

/** Shows why a request was rejected in the page's alert element, with the position of every error. */
export function showProblem(place: HTMLElement, { status, detail, faults = [] }: Problem, workbench?: string): void {
  const labelled = (fault: Fault) => ({ ...fault, message: withLabel(fault.message, place.closest('form')) })
  const ownText = status === 0 ? scriptText('unreachable') : `${scriptText('failed')} (${status})`
  const messages = detail?.split(NEXT_FIELD).map((message) => labelled({ message })) ?? [{ message: ownText }]
  const said = messages.length > 1 ? faultList(messages) : paragraph(messages[0]?.message ?? '')
  // The API's messages are in English.
  if (detail !== undefined) said.lang = 'en'
  // If the detail is the message of the only error, a list would repeat it.
  const isListed = faults.length > 0 && !(faults.length === 1 && faults[0]?.message === detail)
  const list = isListed ? [faultList(faults.map(labelled), workbench)] : []
  place.replaceChildren(said, ...list)
  place.hidden = false
  place.tabIndex = -1
  place.focus()
}

function paragraph(text: string): HTMLElement {
  const made = document.createElement('p')
  made.textContent = text
  return made
}

/** Separates the API's messages about several fields: "urls[1]: must be …; base: must be …". */
const NEXT_FIELD = /; (?=[A-Za-z]+(?:\[\d+\])?(?:\.\w+)*: )/
/** The field that a message is about: "urls[1]: must be …" or "username must be …". */
const FIELD = /^([A-Za-z]+)(?:\[(\d+)\])?(?:(?:\.\w+)*(?=: )|(?= (?:must|is|cannot)\b))/

/** The API names fields by their keys. If the form has the field, returns the message with the label that it shows. */
function withLabel(message: string, form: HTMLFormElement | null): string {
  const [key = '', name = '', at] = FIELD.exec(message) ?? []
  const field = form?.elements.namedItem(name)
  const label = field instanceof HTMLElement ? labelOf(field) : ''
  if (label === '') return message
  return `"${label}"${at === undefined ? '' : ` (${Number(at) + 1})`}${message.slice(key.length)}`
}

/** A hidden field contains the entries of its whole fieldset. */
function labelOf(field: HTMLElement): string {
  const isHidden = field instanceof HTMLInputElement && field.type === 'hidden'
  const shown = isHidden ? field.closest('fieldset')?.querySelector('legend') : (field as HTMLInputElement).labels?.[0]
  return shown?.textContent.trim() ?? ''
}

/**
 * Lists each error with its position, and with its source line and fix if the API sends them. In English.
 * @param workbench the page that the positions link to
 */
export function faultList(faults: readonly Fault[], workbench?: string): HTMLElement {
  const list = document.createElement('ul')
  list.lang = 'en'
  list.className = 'faults'
  list.append(...faults.map((fault) => faultLine(fault, workbench)))
  return list
}

function faultLine({ file = '', line, column, message, source, advice }: Fault, workbench?: string): HTMLElement {
  const item = document.createElement('li')
  const where = document.createElement('code')
  where.textContent =
    file === '' && line !== undefined
      ? `Line ${line}:`
      : [file, line, column].filter((part) => part !== undefined && part !== '').join(':')
  item.append(...(where.textContent === '' ? [] : [linkTo(where, file, line, workbench), ' ']), message)
  if (source) item.append(sourceLine(source, column))
  if (advice) item.append(adviceLine(advice))
  return item
}

function linkTo(where: HTMLElement, file: string, line?: number, workbench?: string): HTMLElement {
  if (workbench === undefined || file === '') return where
  const link = document.createElement('a')
  link.href = `${workbench}?${new URLSearchParams({ file, line: String(line ?? '') })}`
  link.append(where)
  return link
}

/** Shows the source line, with the character at the error's column marked. */
function sourceLine(source: string, column = 0): HTMLElement {
  const line = document.createElement('code')
  line.className = 'fault-source'
  const at = column - 1
  const mark = document.createElement('mark')
  mark.textContent = at < 0 ? '' : source.slice(at, at + 1) || ' '
  if (at < 0 || at > source.length) line.append(source)
  else line.append(source.slice(0, at), mark, source.slice(at + 1))
  return line
}

function adviceLine(advice: string): HTMLElement {
  const line = document.createElement('span')
  line.className = 'fault-advice'
  line.textContent = advice
  return line
}

/** Returns a form's alert element; creates it if it is missing. */
export function problemPlace(form: HTMLElement): HTMLElement {
  const known = form.querySelector<HTMLElement>('.problem')
  if (known !== null) return known
  const place = document.createElement('div')
  place.className = 'problem'
  place.setAttribute('role', 'alert')
  place.hidden = true
  form.prepend(place)
  return place
}
