import { pageText } from './notices.ts'

/** Chromium and browsers based on it. Safari doesn't drop characters, and Firefox follows the page's language. */
const isChromium = /\bChrome\/|HeadlessChrome\//.test(navigator.userAgent)

/**
 * Lets the user enter numbers in the page's format. Chromium reads number inputs in the language of its own user
 * interface and silently drops other characters: in an English browser, `12,50` on a Dutch page would become 1250. It
 * always accepts a point, so this replaces the page's decimal separator with one.
 */
export function takeLocalNumbers(root: HTMLElement): void {
  if (!isChromium) return
  /** The value of the number input from which the user last copied. Pasted again, it stays unchanged. */
  let copied = ''
  for (const type of ['copy', 'cut']) {
    root.addEventListener(type, ({ target }) => {
      if (target instanceof HTMLInputElement && target.type === 'number') copied = target.value
    })
  }
  root.addEventListener('beforeinput', (event) => {
    const { target, inputType } = event
    if (!(target instanceof HTMLInputElement) || target.type !== 'number') return
    const isPasted = inputType === 'insertFromPaste' || inputType === 'insertFromDrop'
    if (!isPasted && inputType !== 'insertText') return
    const given = event.data ?? event.dataTransfer?.getData('text/plain') ?? ''
    if (isPasted && given === copied) return
    const text = standardNumber(given, localeOf(target), isPasted)
    if (text === given) return
    event.preventDefault()
    // Deprecated, but the only way to insert text at the cursor of a number input and keep undo working.
    document.execCommand('insertText', false, text)
  })
}

/** The locale in which the page shows this number. */
function localeOf(input: HTMLInputElement): string {
  return input.closest<HTMLElement>('.grouped')?.dataset.locale ?? pageText('locale')
}

/** @param isWhole whether the text is a number and may have grouped digits; otherwise, it is a part of one */
function standardNumber(text: string, locale: string, isWhole: boolean): string {
  const parts = new Intl.NumberFormat(locale).formatToParts(12_345.6)
  const decimal = parts.find(({ type }) => type === 'decimal')?.value ?? '.'
  if (!isWhole) return text === decimal ? '.' : text
  const group = parts.find(({ type }) => type === 'group')?.value ?? ''
  const written = text.trim().replace(/\s/g, ' ')
  const digits = written.split(/\s/.test(group) ? ' ' : group)
  const isGrouped = group !== '' && digits.length > 1 && digits.slice(1).every((part) => /^\d{3}(?!\d)/.test(part))
  if (!isGrouped && !written.includes(decimal)) return text
  return (isGrouped ? digits.join('') : written).replace(decimal, '.')
}
