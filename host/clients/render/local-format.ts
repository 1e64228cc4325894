import type { Cell, TableColumn } from '../../../runtime/forms/form-definition.ts'

/** Formats that are kept; locales, decimals and currencies come from scripts. */
const MOST_FORMATS = 500
const FALLBACK = 'en'

type NumberStyle = { readonly decimals?: number | undefined; readonly currency?: string | undefined }

const numbers = new Map<string, Intl.NumberFormat>()
const dates = new Map<string, Intl.DateTimeFormat>()
const languages = new Map<string, Intl.DisplayNames>()
const orders = new Map<string, Intl.Collator>()

/** A number as the user's language writes it; without `decimals` with those that it has, a currency with its own. */
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

/** `2026-05-17` -> '17 May 2026'; what is no such date stays as it is. */
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

/** The sign of a currency, such as '€'. */
export function currencySign(locale: string, currency: string): string {
  const format = kept(
    numbers,
    `${locale} sign ${currency}`,
    () => new Intl.NumberFormat(known(locale), { style: 'currency', currency }),
  )
  return format.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? currency
}

/** A time with the server's time zone by name, since it need not be the reader's. @param time epoch milliseconds */
export function localTime(locale: string, time: number): string {
  const format = kept(
    dates,
    `${locale} time`,
    () => new Intl.DateTimeFormat(known(locale), { dateStyle: 'long', timeStyle: 'long' }),
  )
  return format.format(time)
}

/** `nl-BE` -> 'Dutch (Belgium)', in the language of `inLocale`. */
export function languageName(inLocale: string, locale: string): string {
  const names = kept(
    languages,
    inLocale,
    () => new Intl.DisplayNames([known(inLocale)], { type: 'language', languageDisplay: 'standard' }),
  )
  return names.of(known(locale)) ?? locale
}

/** A cell that is text, number or date, as the user's language writes it. */
export function localCell(locale: string, column: TableColumn, cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return ''
  if (column.type === 'number' && typeof cell === 'number') return localNumber(locale, cell, column)
  if (column.type === 'date' && typeof cell === 'string') return localDate(locale, cell)
  return String(cell)
}

/** Compares texts as the user's language sorts them, numbers in them by their value. */
export function localOrder(locale: string): Intl.Collator {
  return kept(orders, locale, () => new Intl.Collator(known(locale), { numeric: true }))
}

/** Which way the language of `locale` is written. */
export function directionOf(locale: string): 'ltr' | 'rtl' {
  // Not in TypeScript's library yet.
  const info = new Intl.Locale(known(locale)) as Intl.Locale & { getTextInfo?(): { direction?: string } }
  return info.getTextInfo?.().direction === 'rtl' ? 'rtl' : 'ltr'
}

/** `locale` itself, or English where it is none: scripts and browsers name locales. */
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
  const made = make()
  formats.set(key, made)
  return made
}
