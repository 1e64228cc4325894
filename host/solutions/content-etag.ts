import { createHash } from 'node:crypto'

/** Identical content has the same etag in every version and draft. */
export function contentEtag(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22)
}
