import type { Fault, Warning } from '../../runtime/bundle/faults.ts'
import { unpackBundle } from '../../runtime/bundle/unpack-bundle.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { adviceFor } from './advice.ts'

/** An error or warning, with its source line and advice on how to fix it, for readers who don't have the files. */
export type Explained<Finding> = Finding & { readonly source: string | null; readonly advice: string | null }

/** Maximum length of a source line, in characters. Longer ones are truncated. */
const LINE_WIDTH = 300

/**
 * @param files the bundle's files, by name
 * @returns the findings with their source lines; `source` is null if the line is missing
 */
export function explainFindings<Finding extends Fault | Warning>(
  findings: readonly Finding[],
  files: ReadonlyMap<string, Uint8Array>,
): Explained<Finding>[] {
  const linesOf = createLineReader(files)
  return findings.map((finding) => {
    const { file, line, code } = finding
    const source = line === undefined ? null : (linesOf(file)[line - 1]?.slice(0, LINE_WIDTH) ?? null)
    return { ...finding, source, advice: adviceFor(code) }
  })
}

/** Explains the result of an upload. If it was accepted, explains its warnings; otherwise its errors and warnings. */
export async function explainUpload<T extends { readonly warnings: readonly Warning[] }>(
  packed: Uint8Array,
  limits: Limits,
  upload: () => Promise<T>,
): Promise<Omit<T, 'warnings'> & { readonly warnings: readonly Explained<Warning>[] }> {
  try {
    const uploaded = await upload()
    return { ...uploaded, warnings: await explainIn(packed, uploaded.warnings, limits) }
  } catch (error) {
    const { faults, warnings = [] } = (error instanceof PlatformError ? error.details : {}) as Findings
    if (!(error instanceof PlatformError) || faults === undefined) throw error
    const details = {
      ...error.details,
      faults: await explainIn(packed, faults, limits),
      warnings: await explainIn(packed, warnings, limits),
    }
    throw new PlatformError(error.code, error.message, details, { cause: error })
  }
}

type Findings = { readonly faults?: readonly Fault[]; readonly warnings?: readonly Warning[] }

async function explainIn<Finding extends Fault | Warning>(
  packed: Uint8Array,
  findings: readonly Finding[],
  limits: Limits,
): Promise<Explained<Finding>[]> {
  const hasLines = findings.some(({ line }) => line !== undefined)
  // If the zip itself is invalid, it can't be unpacked, so no finding has a source line.
  const files = hasLines ? await unpackBundle(packed, limits).catch(() => new Map()) : new Map()
  return explainFindings(findings, files)
}

function createLineReader(files: ReadonlyMap<string, Uint8Array>): (file: string) => readonly string[] {
  const read = new Map<string, readonly string[]>()
  return (file) => {
    const lines = read.get(file) ?? splitLines(files.get(file))
    read.set(file, lines)
    return lines
  }
}

function splitLines(content: Uint8Array | undefined): readonly string[] {
  if (content === undefined) return []
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8')
  return text.replace(WRITTEN_SECRET, '$1"…"').split(/\r\n|\n|\r/)
}

/**
 * Matches secrets in the manifest, so that they can be removed from every response. References to the secret store
 * don't match. (A secret in the manifest also causes a warning.)
 */
const WRITTEN_SECRET = /("apiSecret"\s*:\s*)"(?!%%[A-Za-z0-9_]+%%")(?:[^"\\]|\\.)*"/g
