/** Whether the text can be stored in databases and sent in headers. */
export function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
