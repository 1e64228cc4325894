const REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
  '=': '&#61;',
  '\r': '&#13;',
  '\0': '\ufffd',
}

/**
 * Escapes a value for text, title, textarea or an attribute. An HTML parser reads back exactly `value`, except that NUL
 * and lone surrogates become U+FFFD, because HTML cannot represent them. The result contains no character that could
 * end text or a quoted attribute. It is therefore also safe where a browser parses it as raw text, as in noscript.
 */
export function escapeValue(value: string): string {
  const text = value.isWellFormed() ? value : value.toWellFormed()
  return /[&<>"'`=\r\0]/.test(text) ? text.replace(/[&<>"'`=\r\0]/g, (character) => REFERENCES[character] ?? '') : text
}

/**
 * Escapes the author's own text between tags. Replaces only characters that a parser would otherwise read differently.
 */
export function escapeLiteralText(text: string): string {
  return /[&<>\r]/.test(text) ? text.replace(/[&<>\r]/g, (character) => REFERENCES[character] ?? '') : text
}

/** Escapes the author's own attribute value, for use between double quotes. */
export function escapeLiteralAttribute(text: string): string {
  return /[&<>"\r]/.test(text) ? text.replace(/[&<>"\r]/g, (character) => REFERENCES[character] ?? '') : text
}

/**
 * Escapes a value for a string literal: every character except ASCII letters and digits as `\uXXXX`, in UTF-16 units.
 */
export function escapeScript(value: string): string {
  return value.replace(/[^A-Za-z0-9]/g, unicodeEscape)
}

/** Returns a UTF-16 unit as `\uXXXX`, for a string literal or a JSON text. */
export function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
