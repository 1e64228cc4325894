/**
 * Matches more than 30 combining characters in a row, which no real text contains (UAX #15, 10.1). NFKC also turns the
 * two halfwidth sound marks into combining characters.
 */
const LONG_RUN = /[\p{M}\uff9e\uff9f]{31}/u

/**
 * Same as `text.normalize(form)`, but takes linear time. Normalising sorts each run of combining characters, which takes
 * quadratic time: a run of 60 kB would block the process for seconds. A text with a longer run than `LONG_RUN` allows is
 * returned unchanged.
 */
export function normalized(text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string {
  return LONG_RUN.test(text) ? text : text.normalize(form)
}
