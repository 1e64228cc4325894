/**
 * The time format of the admin pages and the control center: `22 Nov 2026, 17:43`, in the reader's language. The pages'
 * scripts use the same function. Chosen here:
 * - month names, so that day and month can't be confused
 * - the day first in English too, as is usual outside the US
 * - the 24-hour clock
 * - UTC, as in logs, whatever the browser's time zone
 * @param precision `second` for lists with many lines per minute
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

/**
 * The time format of the labels below a chart: `17:43`, or `22 Nov` if the chart shows days.
 * @param span the chart's time range, in ms
 */
export function axisTimeFormat(locale: string, span: number): Intl.DateTimeFormat {
  const parts: Intl.DateTimeFormatOptions =
    span > 2 * 86_400_000
      ? { day: 'numeric', month: 'short' }
      : { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
  return new Intl.DateTimeFormat(dayFirst(locale), { ...parts, timeZone: 'UTC' })
}

/**
 * Returns a duration in words, such as `7 days` or `1 hour`. Chosen here: up to one day in hours, because "24 hours" is
 * more exact than "1 day".
 * @param locale a language of the platform's texts
 * @param duration in ms, of whole hours; of whole days if longer than one day
 */
export function durationText(locale: string, duration: number): string {
  const [unit, length] = duration > 86_400_000 ? (['day', 86_400_000] as const) : (['hour', 3_600_000] as const)
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(duration / length)
}

/** Returns the locale for formatting dates with the day first. */
export function dayFirst(locale: string): string {
  return /^en\b/i.test(locale) ? 'en-GB' : locale
}
