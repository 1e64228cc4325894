import { clockText, elementOf, partOf, wordsFor } from './page-data.ts'
import type { OpenText } from './saving.ts'

/** The states that the line can show, most urgent first. */
const URGENCY = ['conflict', 'signed-out', 'unsaved', 'saving', 'saved'] as const

/** Shows the most urgent state of the open files. */
export function showSaveState(texts: readonly OpenText[]): void {
  const state = URGENCY.find((one) => texts.some((text) => text.state === one)) ?? 'saved'
  const place = partOf('state')
  const refused = texts.find(({ problem }) => problem !== null)?.problem
  const savedAt = Math.max(0, ...texts.map((text) => text.savedAt ?? 0))
  const text =
    state === 'saved' ? (savedAt === 0 ? '' : wordsFor('state.saved', clockText(savedAt))) : wordsFor(`state.${state}`)
  const detail = refused?.detail ?? ''
  const shown = detail === '' ? text : `${text} ${detail}`
  place.dataset.state = state
  partOf('sign-in').hidden = state !== 'signed-out'
  // Don't set the same text again, because screen readers would repeat it.
  if (place.textContent !== shown) place.replaceChildren(elementOf('span', shown))
}
