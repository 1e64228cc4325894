/**
 * Makes a non-secret setting safe to show: removes a user with a password and keys in the query from a URL. Also
 * handles a URL without a scheme, since the error message that rejects it quotes it.
 */
export function withoutKeys(text: string): string {
  return text
    .replace(/(\/\/)[^@\s]*@/g, '$1…@')
    .replace(/[^\s/@]*:[^\s/@]*@/g, '…@')
    .replace(/(:\/\/[^\s?#]*)([?#])\S*/g, '$1$2…')
    .replace(/\?[^\s?]*=\S*/g, '?…')
}
