/**
 * A number with its noun, such as `1 file` or `3 files`. @param what the noun in the singular; its plural must end in
 * "-s"
 */
export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
