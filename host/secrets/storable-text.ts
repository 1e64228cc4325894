/** Whether databases and headers can store the text. */
export function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
