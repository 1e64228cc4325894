/**
 * Makes a setting that is not a secret safe to show. Removes usernames, passwords and queries from URLs, even from URLs
 * without a scheme. Such a URL is invalid, but the error message quotes it.
 */
export function withoutKeys(text: string): string {
  return text
    .replace(/(\/\/)[^@\s]*@/g, '$1…@')
    .replace(/[^\s/@]*:[^\s/@]*@/g, '…@')
    .replace(/(:\/\/[^\s?#]*)([?#])\S*/g, '$1$2…')
    .replace(/\?[^\s?]*=\S*/g, '?…')
}
