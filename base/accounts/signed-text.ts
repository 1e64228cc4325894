import type { PlatformKey } from '../config/platform-key.ts'

/**
 * Signs content that is sent through a browser, so that the browser can't change it. The format is JSON in base64url, a
 * dot, and the signature. The content is not encrypted, so anyone who has it can read it.
 */
export function writeSigned(key: PlatformKey, purpose: string, content: object): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64url')
  return `${text}.${key.sign(purpose, text)}`
}

/**
 * @param longest the maximum length of the text, in characters
 * @returns the content, or null if this platform did not sign it for the purpose. The caller must check the content's
 * structure, because another version may have written it.
 */
export function readSigned(key: PlatformKey, purpose: string, signed: string, longest: number): unknown {
  if (signed.length > longest) return null
  const [, text = '', signature = ''] = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(signed) ?? []
  // Check the signature first, so that only content from this platform is parsed.
  if (!key.verify(purpose, text, signature)) return null
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
}
