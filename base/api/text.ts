/** What a database or a header cannot hold is refused where it is sent. */
export function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
