/**
 * A setting that is no secret, as it may be shown: without what an address may carry of one, a user with a password, or a key in
 * its query. What is no address yet, for want of a scheme, is looked at as well: a start that refuses it quotes it.
 */
export function withoutKeys(text: string): string {
  return text
    .replace(/(\/\/)[^@\s]*@/g, '$1…@')
    .replace(/[^\s/@]*:[^\s/@]*@/g, '…@')
    .replace(/(:\/\/[^\s?#]*)([?#])\S*/g, '$1$2…')
    .replace(/\?[^\s?]*=\S*/g, '?…')
}
