import { jsonPlaces } from '../../runtime/bundle/json-places.ts'
import { MANIFEST } from '../../runtime/bundle/layout.ts'
import { checkManifest, type Manifest } from '../../runtime/bundle/manifest.ts'
import { decodeUtf8, offsetOf, parseStrictJson } from '../../runtime/bundle/strict-json.ts'

/** Returns the manifest in these files; null if it is missing or has errors. */
export function manifestIn(files: ReadonlyMap<string, Uint8Array>): Manifest | null {
  const text = textOf(files.get(MANIFEST))
  const parsed = text === null ? null : parseStrictJson(text)
  return parsed === null || 'error' in parsed ? null : checkManifest(parsed.value, MANIFEST).manifest
}

/** Returns the `version` in a manifest's text, even if the manifest has errors. */
export function versionIn(content: Uint8Array): string | null {
  const text = textOf(content)
  const version = text === null ? null : valuesIn(text)?.version
  return typeof version === 'string' ? version : null
}

/**
 * Replaces the version in a manifest's text, and leaves the rest as the author wrote it.
 * @returns null if the manifest can't be read or has no version
 */
export function withVersion(content: Uint8Array, version: string): Uint8Array | null {
  const text = textOf(content)
  if (text === null || typeof valuesIn(text)?.version !== 'string') return null
  const { line, column } = jsonPlaces(text).value(['version'])
  if (line === undefined || column === undefined) return null
  const start = offsetOf(text, { line, column })
  const [written = ''] = /^"(?:[^"\\]|\\.)*"/.exec(text.slice(start)) ?? []
  return Buffer.from(`${text.slice(0, start)}${JSON.stringify(version)}${text.slice(start + written.length)}`)
}

/** Returns the version after `active`, with the patch number incremented. */
export function nextVersion(active: string): string {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(active) ?? []
  return major === undefined ? active : `${major}.${minor}.${Number(patch) + 1}`
}

function textOf(content: Uint8Array | undefined): string | null {
  return content === undefined ? null : decodeUtf8(content)
}

function valuesIn(text: string): Record<string, unknown> | null {
  const parsed = parseStrictJson(text)
  if ('error' in parsed || typeof parsed.value !== 'object' || Array.isArray(parsed.value)) return null
  return parsed.value as Record<string, unknown> | null
}
