/**
 * Characters that are not allowed in names: control characters, direction marks, invisible characters, line breaks,
 * lone surrogates. Joiners are allowed, because some languages need them.
 */
export const UNFIT = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u

/**
 * Checks a permission's name, wherever the permission is listed, granted or requested. Because of this shared check,
 * every name that is valid in a manifest can also be granted. The guest part of `security` contains a copy, since it
 * can't import this function.
 */
export function isVisible(text: string): boolean {
  return text.trim() === text && !UNFIT.test(text)
}

/** Completes a sentence such as '"permissions[0]" must be …'. */
export function visible(most: number): string {
  return `1 to ${most} visible characters without spaces at the start or end`
}
