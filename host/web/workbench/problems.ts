import type { Fault } from '../../../base/web/scripts/api.ts'
import type { Mark } from './editor.ts'
import { buttonOf, elementOf, partOf, wordsFor } from './page-data.ts'

export type Checked = { readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] }

/** Shows the errors and warnings from a check, each with a button that goes to its line. */
export function showProblems(
  { faults, warnings }: Checked,
  goTo: (file: string, line: number, column: number) => void,
) {
  const place = partOf('problems-list')
  const all = [...faults.map((one) => [one, 'error'] as const), ...warnings.map((one) => [one, 'warning'] as const)]
  place.replaceChildren(
    ...all.map(([fault, kind]) => {
      const { file = '', line = 1, column = 1, message, advice } = fault
      const where = [file, fault.line, fault.column].filter((part) => part !== undefined && part !== '').join(':')
      const texts = [elementOf('span', message, { lang: 'en' })]
      if (advice) texts.push(elementOf('span', advice, { lang: 'en', class: 'fault-advice' }))
      const level = elementOf('span', wordsFor(`problem.${kind}`), {
        class: `state state-${kind === 'error' ? 'bad' : 'quiet'}`,
      })
      return elementOf('li', [level, ' ', buttonOf(where, () => goTo(file, line, column)), ' ', ...texts].map(nodeOf))
    }),
  )
  partOf('problems-count').textContent =
    all.length === 0 ? wordsFor('problems.none') : wordsFor('problems.count', faults.length, warnings.length)
}

function nodeOf(part: string | Node): Node {
  return typeof part === 'string' ? document.createTextNode(part) : part
}

/** Returns the errors and warnings in one file, as marks for the editor. */
export function marksOf({ faults, warnings }: Checked, path: string): readonly Mark[] {
  const marksFor = (list: readonly Fault[], severity: Mark['severity']) =>
    list
      .filter(({ file }) => file === path)
      .map(({ line = 1, column = 1, message }) => ({ line, column, severity, message }))
  return [...marksFor(faults, 'error'), ...marksFor(warnings, 'warning')]
}

export function errorsByFile({ faults }: Checked): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { file = '' } of faults) counts.set(file, (counts.get(file) ?? 0) + 1)
  return counts
}
