import type { PlatformKey } from '../../base/config/platform-key.ts'

/**
 * What this platform said for one purpose, so that it can travel through a browser and come back: JSON as base64url, a
 * dot, the signature. Whoever holds it can read it.
 */
export function writeSigned(key: PlatformKey, purpose: string, content: object): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64url')
  return `${text}.${key.sign(purpose, text)}`
}

/**
 * @param longest characters
 * @returns what was written; its shape is the caller's to check, as another version may have written other things. null
 *   for what this platform did not write for the purpose.
 */
export function readSigned(key: PlatformKey, purpose: string, signed: string, longest: number): unknown {
  if (signed.length > longest) return null
  const [, text = '', signature = ''] = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(signed) ?? []
  // Checked before it is read: only what this platform wrote is parsed.
  if (!key.verify(purpose, text, signature)) return null
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
}
