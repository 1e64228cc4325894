/** Returns a word for a printed command, quoted if the shell needs it. */
export function shellWord(word: string): string {
  return /^[\w./:@%+=~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
