// Used by the host and by the client's script in the browser.

/** The maximum that Intl allows for `minimumFractionDigits`. */
const MOST_DIGITS = 20

/**
 * Formats a number for display: with two decimals, `1234.5` becomes '1,234.50'. Never rounds: further digits are kept.
 * @param written as in the value of `input type=number`
 * @param locale a valid BCP 47 tag
 * @returns '' for an exponent, or for anything that is not a number: the input then shows what was typed
 */
export function groupedNumber(written: string, locale: string, decimals = 0): string {
  const found = /^-?\d{1,100}(?:\.(\d{1,20}))?$/.exec(written)
  if (found === null) return ''
  const digits = Math.min(MOST_DIGITS, Math.max(decimals, found[1]?.length ?? 0))
  const format = new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits })
  // Pass the text: a number would keep only 15 to 17 of the digits.
  return format.format(written as `${number}`)
}
