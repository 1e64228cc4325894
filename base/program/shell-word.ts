/** A word of a command that is printed to be copied: quoted where the shell needs it. */
export function shellWord(word: string): string {
  return /^[\w./:@%+=~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
