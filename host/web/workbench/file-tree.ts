import { elementOf, pageData, partOf, wordsFor } from './page-data.ts'

/** A file of the draft, as the API lists it. */
export type ListedFile = {
  readonly path: string
  readonly etag: string
  readonly bytes: number
  readonly change: 'none' | 'added' | 'changed'
}

export type TreeModel = {
  readonly files: readonly ListedFile[]
  readonly removed: readonly string[]
  readonly shown: string | null
  /** The number of errors by path. */
  readonly errors: ReadonlyMap<string, number>
  readonly open: (path: string) => void
}

/** Lists the files. Each is a link to this page with that file, so it can also be opened in a new tab. */
export function showTree({ files, removed, shown, errors, open }: TreeModel): void {
  const place = partOf('files')
  const focused = (document.activeElement as HTMLElement | null)?.dataset.path
  const items = files.map((file) => treeItem(file, shown, errors.get(file.path) ?? 0, open))
  const gone = removed.map((path) =>
    elementOf('li', [elementOf('s', path), elementOf('span', ` ${wordsFor('file.removed')}`, { class: 'quiet' })]),
  )
  place.replaceChildren(...items, ...gone)
  if (focused === undefined) return
  for (const link of place.querySelectorAll('a')) if (link.dataset.path === focused) link.focus()
}

function treeItem(
  { path, change }: ListedFile,
  shown: string | null,
  errors: number,
  open: (path: string) => void,
): HTMLElement {
  const link = elementOf('a', path, { href: `${pageData.page}&file=${encodeURIComponent(path)}` })
  link.dataset.path = path
  if (path === shown) link.setAttribute('aria-current', 'true')
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    open(path)
  })
  const notes = [
    ...(change === 'none' ? [] : [wordsFor(`file.${change}`)]),
    ...(errors === 0 ? [] : [wordsFor('file.errors', errors)]),
  ]
  const note = elementOf('span', notes.length === 0 ? '' : ` ${notes.join(' · ')}`, {
    class: errors > 0 ? 'workbench-errors' : 'quiet',
  })
  return elementOf('li', [link, note])
}
