/** A number with its noun, such as `1 file` or `3 files`. @param what the singular of a noun with a plural in "-s" */
export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
