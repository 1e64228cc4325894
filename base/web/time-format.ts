/**
 * How the pages of the administration and of the control center write a time: `22 Nov 2026, 17:43`, in the reader's language.
 * Chosen here: the month by its name and the hours to 24, so that nobody takes the month for the day or evening for morning; the
 * day first in English too, which readers outside America expect and those inside cannot misread; UTC, as logs are, whatever
 * the browser's clock says. The scripts of the pages write times by the same function.
 * @param precision `second` for lines of which many fall into one minute
 */
export function timeFormat(locale: string, precision: 'minute' | 'second' = 'minute'): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(dayFirst(locale), {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    ...(precision === 'second' ? { second: '2-digit' } : {}),
    hourCycle: 'h23',
    timeZone: 'UTC',
  })
}

/** The locale to write days in. */
export function dayFirst(locale: string): string {
  return /^en\b/i.test(locale) ? 'en-GB' : locale
}
