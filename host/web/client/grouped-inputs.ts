import { groupedNumber } from '../grouped-number.ts'
import type { Control } from './controls.ts'

/**
 * Updates the text that covers a number input while it is not being edited. The input keeps what was typed, so that
 * forms send the exact value and screen readers read the input.
 */
export function showGrouped(control: Control): void {
  const box = control.parentElement
  const cover = box?.querySelector('.cover')
  if (!(control instanceof HTMLInputElement) || !box || !cover) return
  const { locale = '', decimals } = box.dataset
  const text = control.validity.badInput ? '' : groupedNumber(control.value, locale, Number(decimals ?? 0))
  if (cover.textContent !== text) cover.textContent = text
}
