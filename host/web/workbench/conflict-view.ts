import { buttonOf, elementOf, partOf, wordsFor } from './page-data.ts'

/** Two conflicting texts of a file. The user chooses one. A text is null if that side has no such file. */
export type TwoTexts = {
  readonly path: string
  readonly mine: string | null
  readonly theirs: string | null
  readonly mineTitle: string
  readonly theirsTitle: string
}

export type Chosen = { readonly side: 'mine' | 'theirs'; readonly text: string | null }

/**
 * Shows both texts side by side. Users can edit their own text, so they can copy parts of the other text into it.
 * @param edited called with each change of the user's own text
 */
export function bothTexts(
  texts: TwoTexts,
  choose: (chosen: Chosen) => void,
  edited?: (text: string) => void,
): HTMLElement {
  const { path, mine, theirs, mineTitle, theirsTitle } = texts
  const mineArea = areaOf(mine, mineTitle, `${path} ${mineTitle}`, mine === null)
  const theirsArea = areaOf(theirs, theirsTitle, `${path} ${theirsTitle}`, true)
  mineArea.area.addEventListener('input', () => edited?.(mineArea.area.value))
  const keep = buttonOf(
    wordsFor('conflict.mine'),
    () => choose({ side: 'mine', text: mine === null ? null : mineArea.area.value }),
    '',
  )
  const take = buttonOf(wordsFor('conflict.theirs'), () => choose({ side: 'theirs', text: theirs }))
  const place = elementOf('div', [mineArea.column, theirsArea.column], { class: 'workbench-both' })
  const actions = elementOf('p', [keep, take], { class: 'row-actions' })
  return elementOf('section', [elementOf('h3', wordsFor('conflict.title', path)), place, actions], {
    class: 'workbench-conflict',
  })
}

function areaOf(text: string | null, title: string, name: string, isReadOnly: boolean) {
  const area = elementOf('textarea', '', { rows: '14', spellcheck: 'false', wrap: 'off', 'aria-label': name })
  area.value = text ?? ''
  area.readOnly = isReadOnly
  const note = elementOf('span', text === null ? wordsFor('conflict.none') : '', { class: 'quiet' })
  return { area, column: elementOf('div', [elementOf('h4', title), note, area]) }
}

/**
 * Shows a conflict between the text in the editor and the text on the host, in place of the editor.
 * @param cursor the editor's cursor position, so that a user who is typing continues at the same place
 */
export function showConflict(
  texts: TwoTexts,
  cursor: number,
  choose: (chosen: Chosen) => void,
  edited: (text: string) => void,
): void {
  const place = partOf('conflict')
  place.replaceChildren(bothTexts(texts, choose, edited))
  place.hidden = false
  const mine = place.querySelector<HTMLTextAreaElement>('textarea')
  mine?.setSelectionRange(cursor, cursor)
  mine?.focus()
}

export function hideConflict(): void {
  const place = partOf('conflict')
  place.hidden = true
  place.replaceChildren()
}
