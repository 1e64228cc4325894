import type { Markup } from '../../../base/web/markup.ts'
import type { Badge, Cell, TableColumn, TableElement, TableRow } from '../../../runtime/forms/form-definition.ts'
import type { RowId } from '../view.ts'
import { formatsOf, ownText, type RenderContext, shownText } from './context.ts'
import { localCell, localNumber } from './local-format.ts'
import { attributes, html } from './markup.ts'
import { described, labelOf, notes, type Shown, testName } from './parts.ts'
import { cellOf, shownRows, type TablePage } from './table-rows.ts'

/**
 * Renders one page of a table. The ARIA roles are explicit: in a narrow window, CSS shows rows as cards, which removes
 * the implicit table roles.
 */
export function renderTable(shown: Shown<TableElement>): Markup {
  const { element, state, id, context, isEnabled } = shown
  const page = shownRows(element, state, context.locale)
  const label = labelOf(shown)
  const selected = new Set((state.selected ?? []).map(String))
  const columns = element.columns.map((column) => header(shown, column, page))
  const choose = element.selection === 'none' ? false : chooseAll(shown, page.rows, selected)
  const body = page.rows.map((row, index) => bodyRow(row, page.first + index + 1))
  const width = element.columns.length + (choose === false ? 0 : 1)
  const empty = html`<tr class="no-rows" role="row"><td role="cell" colspan="${width}">${ownText(context, 'platform.form.norows')}</td></tr>`
  return html`<div class="table" data-table="${element.name}"${attributes({ 'data-off': !isEnabled })}><div class="wide"><table role="table" id="${id}.input"${attributes({ class: element.columns.some(({ line }) => line !== undefined) && 'lines', 'data-cy': testName(shown), 'aria-rowcount': page.total + 1 })}${described(shown)}><caption${attributes({ id: `${id}.caption`, class: label === '' && 'hidden' })}><bdi>${label === '' ? element.name : label}</bdi></caption><thead role="rowgroup"><tr role="row" aria-rowindex="1">${choose}${columns}</tr></thead><tbody role="rowgroup">${body.length === 0 ? empty : body}</tbody></table></div>${page.pages > 1 && pager(shown, page, label)}</div>${notes(shown)}`

  function bodyRow(row: TableRow, rowIndex: number): Markup {
    const isSelected = selected.has(String(row.id))
    const rowId = `${id}.row.${encodeURIComponent(String(row.id).toWellFormed())}`
    const name = rowName(shown, row)
    const cells = element.columns.map((column, place) => bodyCell(shown, column, row, place === 0 ? rowId : null))
    return html`<tr role="row" id="${rowId}" data-row="${JSON.stringify(row.id)}"${attributes({ 'aria-rowindex': rowIndex, class: isSelected && 'selected' })}>${element.selection !== 'none' && chooser(shown, rowId, name, isSelected)}${cells}</tr>`
  }
}

function header(
  { element, id, context, isEnabled }: Shown<TableElement>,
  column: TableColumn,
  { sort }: TablePage,
): Markup {
  const label = html`<bdi>${columnLabel(context, column)}</bdi>`
  const kind = column.type === 'number' && 'number'
  if (!column.sortable) return html`<th role="columnheader" scope="col"${attributes({ class: kind })}>${label}</th>`
  const direction = sort?.column === column.name ? sort.direction : null
  const next = direction === 'ascending' ? 'descending' : 'ascending'
  const sign = direction === null ? '↕' : direction === 'ascending' ? '↑' : '↓'
  return html`<th role="columnheader" scope="col"${attributes({ class: kind ? 'number sortable' : 'sortable', 'aria-sort': direction ?? 'none' })}><button class="sort"${attributes({ type: 'button', id: `${id}.sort.${column.name}`, 'data-sort': column.name, 'data-direction': next, 'data-element': element.name, disabled: !isEnabled })}>${label}<span class="sign" aria-hidden="true">${sign}</span></button></th>`
}

function bodyCell(shown: Shown<TableElement>, column: TableColumn, row: TableRow, opens: string | null): Markup {
  const { context, element, isEnabled } = shown
  const cell = cellOf(row, column.name)
  const badge = badgeOf(column, cell)
  const text =
    column.type === 'boolean' && typeof cell === 'boolean'
      ? ownText(context, cell ? 'platform.form.yes' : 'platform.form.no')
      : cellText(context, column, cell)
  const content =
    badge === undefined ? html`<bdi>${text}</bdi>` : html`<span class="badge ${badge.tone}"><bdi>${text}</bdi></span>`
  const canOpen = opens !== null && (element.onAction !== undefined || context.listenedEvents?.has('onAction') === true)
  const value = canOpen
    ? html`<button class="link"${attributes({ type: 'button', id: `${opens}.open`, 'data-open': true, 'data-element': element.name, disabled: !isEnabled, 'aria-label': text === '' && ownText(context, 'platform.form.open', [String(row.id)]) })}>${text === '' ? '…' : content}</button>`
    : content
  return html`<td role="cell" data-label="${columnLabel(context, column)}"${attributes({ class: classesOf(column) })}>${value}</td>`
}

function classesOf({ type, badges, line }: TableColumn): string | false {
  const classes = [type === 'number' && 'number', badges && 'badges', line !== undefined && `line-${line}`]
  return classes.filter((one) => one).join(' ') || false
}

function badgeOf({ badges }: TableColumn, cell: Cell | undefined): Badge | undefined {
  return badges?.find(({ value }) => value === cell)
}

function cellText(context: RenderContext, column: TableColumn, cell: Cell | undefined): string {
  const badge = badgeOf(column, cell)
  return badge === undefined ? localCell(formatsOf(context), column, cell) : shownText(context, badge.label)
}

/**
 * The accessible name of the control that selects a row: the row's first cell, or the row's id if that cell is empty.
 */
function rowName({ element, context }: Shown<TableElement>, row: TableRow): string {
  const [first] = element.columns
  return (first && cellText(context, first, cellOf(row, first.name))) || String(row.id)
}

function chooser(
  { element, id, context, isEnabled }: Shown<TableElement>,
  rowId: string,
  name: string,
  checked: boolean,
): Markup {
  const kind = element.selection === 'single' ? { type: 'radio', name: `${id}.selection` } : { type: 'checkbox' }
  return html`<td role="cell" class="choose"><label class="target"><input${attributes({ ...kind, id: `${rowId}.select`, 'data-select': true, 'data-element': element.name, checked, disabled: !isEnabled, 'aria-label': ownText(context, 'platform.form.selectrow', [name]) })}></label></td>`
}

function chooseAll(
  { element, id, context, isEnabled }: Shown<TableElement>,
  rows: readonly TableRow[],
  selected: ReadonlySet<string>,
): Markup {
  if (element.selection === 'single' || rows.length === 0) {
    return html`<th role="columnheader" scope="col" class="choose"><span class="hidden">${ownText(context, 'platform.form.selection')}</span></th>`
  }
  const checked = rows.every((row) => selected.has(String(row.id)))
  const label = ownText(context, 'platform.form.selectall')
  return html`<th role="columnheader" scope="col" class="choose"><label class="target"><input type="checkbox"${attributes({ id: `${id}.all`, 'data-select-all': true, 'data-element': element.name, checked, disabled: !isEnabled })}><span class="all">${label}</span></label></th>`
}

function pager(
  { element, id, context }: Shown<TableElement>,
  { page, pages, first, rows, total }: TablePage,
  label: string,
): Markup {
  const number = (value: number) => localNumber(formatsOf(context), value)
  const name = ownText(context, 'platform.form.pages', [label === '' ? element.name : label])
  const step = (to: number, key: string, sign: string, place: string) =>
    html`<button class="button secondary step"${attributes({ type: 'button', id: `${id}.${place}`, 'data-page': Math.min(Math.max(to, 1), pages), 'data-element': element.name, 'aria-disabled': (to < 1 || to > pages || to === page) && 'true', 'aria-label': ownText(context, key) })}><span aria-hidden="true">${sign}</span></button>`
  const range = ownText(context, 'platform.form.rows', [number(first), number(first + rows.length - 1), number(total)])
  const current = ownText(context, 'platform.form.page', [number(page), number(pages)])
  return html`<nav class="pager" aria-label="${name}"><p class="range">${range}</p>${step(page === 1 ? 0 : 1, 'platform.form.firstpage', '«', 'first')}${step(page - 1, 'platform.form.previouspage', '‹', 'previous')}<p class="current" aria-live="polite">${current}</p>${step(page + 1, 'platform.form.nextpage', '›', 'next')}${step(page === pages ? pages + 1 : pages, 'platform.form.lastpage', '»', 'last')}</nav>`
}

function columnLabel(context: RenderContext, { label, name }: TableColumn): string {
  return shownText(context, label ?? name)
}

/** The ids of the rows on the shown page. Row ids in events must be among them. */
export function rowIdsOnPage({ element, state, context }: Shown<TableElement>): readonly RowId[] {
  return shownRows(element, state, context.locale).rows.map(({ id }) => id)
}
