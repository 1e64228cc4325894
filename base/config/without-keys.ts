/**
 * Makes a non-secret setting safe to show: removes usernames, passwords and queries from URLs. Also handles a URL
 * without a scheme, since the error message that rejects it quotes it.
 */
export function withoutKeys(text: string): string {
  return text
    .replace(/(\/\/)[^@\s]*@/g, '$1…@')
    .replace(/[^\s/@]*:[^\s/@]*@/g, '…@')
    .replace(/(:\/\/[^\s?#]*)([?#])\S*/g, '$1$2…')
    .replace(/\?[^\s?]*=\S*/g, '?…')
}
