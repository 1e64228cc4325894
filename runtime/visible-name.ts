/**
 * Characters that are not allowed in names: control characters, direction marks, invisible characters, line breaks,
 * lone surrogates. Joiners are allowed, because some languages need them.
 */
export const UNFIT = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u

/**
 * The only check of a permission's name, wherever the permission is listed, granted or requested. So every name that a
 * manifest accepts can be granted. The guest part of `security` has a copy, since it cannot import.
 */
export function isVisible(text: string): boolean {
  return text.trim() === text && !UNFIT.test(text)
}

/** Continues a sentence: '"permissions[0]" must be …'. */
export function visible(most: number): string {
  return `1 to ${most} visible characters without spaces at the start or end`
}
