/**
 * Characters that are not allowed in names: control characters, direction marks, invisible characters, line breaks,
 * lone surrogates. Joiners are allowed, because some languages need them.
 */
export const UNFIT = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u

/**
 * Checks a permission's name, wherever the permission is listed, granted or requested. With a single check, every name
 * that a manifest accepts can also be granted. The guest part of `security` has a copy, since it cannot import this.
 */
export function isVisible(text: string): boolean {
  return text.trim() === text && !UNFIT.test(text)
}

/** Completes a sentence such as '"permissions[0]" must be …'. */
export function visible(most: number): string {
  return `1 to ${most} visible characters without spaces at the start or end`
}
