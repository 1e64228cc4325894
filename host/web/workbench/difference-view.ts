import { elementOf, wordsFor } from './page-data.ts'

/** The response of a draft's `diff`. It has the same format as the comparison of two versions. */
export type Difference = {
  readonly files: readonly {
    readonly file: string
    readonly change: 'added' | 'removed' | 'changed'
    readonly hunks: readonly Hunk[] | null
    readonly isTooMuch: boolean
  }[]
  readonly moreFiles: number
  readonly manifest: readonly { readonly key: string; readonly from: unknown; readonly to: unknown }[] | null
}

type Hunk = {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly lines: readonly string[]
}

/**
 * Shows the changed lines of each file. It also shows changes in the manifest that affect sign-ins or what scripts can
 * access.
 */
export function showDifference(place: HTMLElement, { files, moreFiles, manifest }: Difference): void {
  const parts: Node[] = []
  if (manifest !== null && manifest.length > 0) {
    parts.push(elementOf('h4', wordsFor('diff.manifest')))
    parts.push(
      elementOf(
        'ul',
        manifest.map(({ key, from, to }) =>
          elementOf('li', [
            elementOf('code', key),
            document.createTextNode(' '),
            elementOf('code', `${JSON.stringify(from)} → ${JSON.stringify(to)}`),
          ]),
        ),
      ),
    )
  }
  parts.push(...files.map(changedFile))
  if (moreFiles > 0) parts.push(elementOf('p', wordsFor('diff.more', moreFiles)))
  place.replaceChildren(...parts)
}

function changedFile({ file, change, hunks, isTooMuch }: Difference['files'][number]): HTMLElement {
  const head = elementOf(
    'header',
    [elementOf('h4', file), elementOf('span', wordsFor(`diff.${change}`), { class: `diff-change diff-${change}` })],
    { class: 'diff-head' },
  )
  const lines = (hunks ?? []).flatMap(hunkLines)
  const body =
    lines.length === 0
      ? []
      : [elementOf('div', lines, { class: 'diff-lines', tabindex: '0', role: 'group', 'aria-label': file })]
  const note = isTooMuch ? [elementOf('p', wordsFor('diff.toomuch'), { class: 'diff-note' })] : []
  return elementOf('article', [head, ...body, ...note], { class: 'diff-file' })
}

function hunkLines({ oldStart, oldLines, newStart, newLines, lines }: Hunk): readonly HTMLElement[] {
  const place = `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`
  const kinds: Readonly<Record<string, string>> = { '+': ' diff-plus', '-': ' diff-minus' }
  return [
    elementOf('div', place, { class: 'diff-place' }),
    ...lines.map((line) => elementOf('div', line, { class: `diff-line${kinds[line[0] ?? ''] ?? ''}` })),
  ]
}
