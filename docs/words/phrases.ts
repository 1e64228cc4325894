import type { Text } from './texts.ts'

export type Phrase = { readonly phrase: RegExp; readonly write: string }
/** A line where a phrase is right: `text` is part of the line. */
export type Exception = { readonly file: string; readonly text: string; readonly reason: string }

/**
 * Phrases that a native speaker would not use here, and what to write instead. `npm run check` reports them in docs,
 * texts of pages, messages, comments and names of tests. Add a phrase when a reader stumbles over it.
 */
export const PHRASES: readonly Phrase[] = [
  { phrase: /\b(go(es)?|going|went) on\b/i, write: 'continues; keeps running' },
  { phrase: /\be-mails?\b/i, write: 'email' },
  { phrase: /\b(accepts?|in|many|no|of|queued|rejects?|requested|such|the|these) mails\b/i, write: 'emails' },
  { phrase: /\buser names?\b/, write: 'username' },
  { phrase: /\bcomes? (with|by)\b/i, write: 'is included in; is sent in; is set by' },
  { phrase: /(?<!\bno )\bfaults?\b/i, write: 'error; invalid' },
  { phrase: /\b(tells? of|told(?! apart))\b/i, write: 'reports, shows; reported, shown' },
  { phrase: /\b(anew|once more)\b/i, write: 'again' },
  { phrase: /\bby (itself|themselves)\b/i, write: 'automatically' },
  { phrase: /\b(stands? in|(has|have) (its|their) place in)\b/i, write: 'is in; is listed in' },
  {
    phrase: /(?<!\bthere )\b(is|are) no (?!longer\b|more\b|less\b|later\b|earlier\b|match\b|one\b)/i,
    write: 'is not a',
  },
  { phrase: /\bwhoever\b/i, write: 'anyone who; if you' },
  { phrase: /(^|[.:;!] )Who (?!(did what|can|may|a|is for)\b|[^.]*\?)/, write: 'users who; anyone who; if you' },
  { phrase: /\b(it|they|which|that) holds? (once|for)\b/i, write: 'is valid; applies; can be used once' },
  { phrase: /\bmend(s|ed|ing)?\b/i, write: 'fix' },
  { phrase: /\b(is|are|was|were) away\b/i, write: 'is unreachable; is down' },
  { phrase: /\b(come|comes|came|coming) in\b/i, write: 'sign in; arrive' },
  { phrase: /\bleads? to\b/i, write: 'redirects to; links to; causes' },
  { phrase: /\blook(s|ed)? (for|at) .* every\b/i, write: 'polls every' },
  { phrase: /\b(is|are) believed\b/i, write: 'is cached' },
  { phrase: /\b(is|are|be) (no )?news\b/i, write: 'is reported once; is suppressed' },
  { phrase: /\bone after (the other|another)\b/i, write: 'sequentially; in order' },
  { phrase: /\bat once\b/i, write: 'immediately (time); together, at the same time (count)' },
  {
    phrase:
      /\bof (its|their|his) own(?=\W*$|[.,:;)]| (and|are|for|has|have|in|is|on|or|that|to|when|where|which|with)\b)/i,
    write: 'its own; separate',
  },
  { phrase: /\bso (many|long|often)\b/i, write: 'N; for N ms; N times per minute; as long as' },
  { phrase: /\bends (him|her|them)\b/i, write: 'signs the user out; terminates the process' },
  { phrase: /\basked for\b/i, write: 'requested' },
  { phrase: /\bin the way( of)?\b/i, write: 'slows down; blocks' },
  { phrase: /\b(as ever|all the same)\b/i, write: 'as before; the same' },
  { phrase: /\b(comes?|came) to nothing\b/i, write: 'fails; has no effect' },
  { phrase: /\blines to copy\b/i, write: 'commands' },
  { phrase: /\baccount 10001\b/i, write: 'UID 10001' },
  { phrase: /\bthe same of\b/i, write: 'the same for; the same in' },
  { phrase: /\bsome(body|one) in between\b/i, write: 'a man-in-the-middle' },
  { phrase: /\bsomebody\b/i, write: 'someone' },
  { phrase: /\bruns? again once\b/i, write: 'the host retries it once' },
  { phrase: /\blost because of others\b/i, write: 'lost because of another client' },
  { phrase: /\bprocessor time\b/i, write: 'CPU time' },
  { phrase: /\b(is|are|was|were) answered (with|by|otherwise)\b/i, write: 'the host responds with; the response is' },
  { phrase: /\b(created|made) ahead\b/i, write: 'created in advance' },
  { phrase: /\baccess rights\b/i, write: 'permissions' },
  { phrase: /\bmust be given\b/i, write: 'is required' },
  { phrase: /\bend of a burst\b/i, write: 'debounce' },
  { phrase: /\bsince the start\b/i, write: 'since startup; since the process started' },
  { phrase: /\bsuffices?\b/i, write: 'is enough' },
]

export const EXCEPTIONS: readonly Exception[] = [
  { file: 'docs/generate.ts', text: '`faults` of a rejected upload', reason: 'a field of the API' },
  { file: 'test/docs/words.test.ts', text: 'Whoever has the token', reason: 'an example for the check' },
  { file: 'test/docs/words.test.ts', text: 'This is no user', reason: 'an example for the check' },
  { file: 'test/docs/words.test.ts', text: 'Both start at once', reason: 'an example for the check' },
  { file: 'host/clients/render/parts.ts', text: 'class="fault"', reason: 'a CSS class that solutions can style' },
]

/** @returns a line for each phrase, and for each exception that no longer occurs */
export function findingsOf(
  texts: readonly Text[],
  phrases: readonly Phrase[],
  exceptions: readonly Exception[],
): string[] {
  const isException = (one: Text) => exceptions.some(({ file, text }) => one.file === file && one.text.includes(text))
  const unused = exceptions.filter(
    ({ file, text }) => !texts.some((one) => one.file === file && one.text.includes(text)),
  )
  return [
    ...texts.filter((one) => !isException(one)).flatMap((text) => phrasesIn(text, phrases)),
    ...unused.map(({ file, text }) => `docs/words/phrases.ts: "${text}" is not in ${file}. Remove the exception.`),
  ]
}

function phrasesIn({ file, line, text }: Text, phrases: readonly Phrase[]): string[] {
  return phrases.flatMap(({ phrase, write }) => {
    const found = phrase.exec(text)
    if (found === null) return []
    const around = text.slice(Math.max(0, found.index - 30), found.index + found[0].length + 30)
    return [`${file}:${line}: "…${around}…". Instead of "${found[0].trim()}", write: ${write}.`]
  })
}
