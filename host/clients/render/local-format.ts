import type { Cell, TableColumn } from '../../../runtime/forms/form-definition.ts'

/** Maximum cached formats. The number is limited, because locales, decimals and currencies come from scripts. */
const MOST_FORMATS = 500
const FALLBACK = 'en'

type NumberStyle = { readonly decimals?: number | undefined; readonly currency?: string | undefined }

const numbers = new Map<string, Intl.NumberFormat>()
const dates = new Map<string, Intl.DateTimeFormat>()
const languages = new Map<string, Intl.DisplayNames>()
const orders = new Map<string, Intl.Collator>()

/**
 * Formats a number. Without `decimals`, a plain number keeps all its digits, and an amount has the usual number of
 * decimals for its currency.
 */
export function localNumber(locale: string, value: number, { decimals, currency }: NumberStyle = {}): string {
  const key = `${locale} ${decimals} ${currency}`
  const format = kept(numbers, key, () => {
    const digits = decimals === undefined ? {} : { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
    const money = currency === undefined ? {} : ({ style: 'currency', currency } as const)
    const most = decimals === undefined && currency === undefined ? { maximumFractionDigits: 20 } : {}
    return new Intl.NumberFormat(known(locale), { ...most, ...digits, ...money })
  })
  return format.format(value)
}

/** Formats a date: for example, `2026-05-17` becomes '17 May 2026'. Anything that is not a date stays unchanged. */
export function localDate(locale: string, value: string): string {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(value) ? Date.parse(`${value}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(time)) return value
  const format = kept(
    dates,
    locale,
    () => new Intl.DateTimeFormat(known(locale), { dateStyle: 'medium', timeZone: 'UTC' }),
  )
  return format.format(time)
}

/** The symbol of a currency, such as '€'. */
export function currencySign(locale: string, currency: string): string {
  const format = kept(
    numbers,
    `${locale} sign ${currency}`,
    () => new Intl.NumberFormat(known(locale), { style: 'currency', currency }),
  )
  return format.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? currency
}

/**
 * A time with the name of the server's time zone, which may differ from the reader's.
 * @param time epoch ms
 */
export function localTime(locale: string, time: number): string {
  const format = kept(
    dates,
    `${locale} time`,
    () => new Intl.DateTimeFormat(known(locale), { dateStyle: 'long', timeStyle: 'long' }),
  )
  return format.format(time)
}

/** The name of a locale in the language `inLocale`. For example, `nl-BE` becomes 'Dutch (Belgium)'. */
export function languageName(inLocale: string, locale: string): string {
  const names = kept(
    languages,
    inLocale,
    () => new Intl.DisplayNames([known(inLocale)], { type: 'language', languageDisplay: 'standard' }),
  )
  return names.of(known(locale)) ?? locale
}

/** Formats a table cell as text, a number or a date. */
export function localCell(locale: string, column: TableColumn, cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return ''
  if (column.type === 'number' && typeof cell === 'number') return localNumber(locale, cell, column)
  if (column.type === 'date' && typeof cell === 'string') return localDate(locale, cell)
  return String(cell)
}

/** Returns the locale's collator. */
export function localOrder(locale: string): Intl.Collator {
  return kept(orders, locale, () => new Intl.Collator(known(locale)))
}

/** The writing direction of a locale. */
export function directionOf(locale: string): 'ltr' | 'rtl' {
  // TypeScript's type library doesn't have this method yet.
  const info = new Intl.Locale(known(locale)) as Intl.Locale & { getTextInfo?(): { direction?: string } }
  return info.getTextInfo?.().direction === 'rtl' ? 'rtl' : 'ltr'
}

/** Returns the canonical locale, or English if it is invalid: locales come from scripts and browsers. */
export function known(locale: string): string {
  try {
    return Intl.getCanonicalLocales(locale)[0] ?? FALLBACK
  } catch {
    return FALLBACK
  }
}

function kept<T>(formats: Map<string, T>, key: string, make: () => T): T {
  const before = formats.get(key)
  if (before !== undefined) return before
  if (formats.size >= MOST_FORMATS) formats.clear()
  const created = make()
  formats.set(key, created)
  return created
}
