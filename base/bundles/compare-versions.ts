import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import type { structuredPatch } from 'diff'
import type { Manifest } from '../../runtime/bundle/manifest.ts'

/** A hunk with three context lines, as in `diff -u`. */
export type Hunk = {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  /** Each line begins with a space, `+` or `-`; `\` means that the preceding line has no line feed. */
  readonly lines: readonly string[]
}

export type ChangedFile = {
  readonly file: string
  readonly change: 'added' | 'removed' | 'changed'
  /** Size in bytes; null if the file does not exist in that version. */
  readonly fromBytes: number | null
  readonly toBytes: number | null
  /** The changes in a text file; null if it is not text, or if `isTooMuch` is true. */
  readonly hunks: readonly Hunk[] | null
  /** Whether there are too many changes. If so, the lines were not compared, or some hunks are missing. */
  readonly isTooMuch: boolean
}

/** A change to a manifest key that affects access or the resources available to scripts. */
export type ManifestChange = { readonly key: string; readonly from: unknown; readonly to: unknown }

export type VersionDifference = {
  /** Sorted by name; at most `MOST_FILES` files. */
  readonly files: readonly ChangedFile[]
  readonly moreFiles: number
  readonly manifest: readonly ManifestChange[]
}

export type ComparedVersion = {
  readonly manifest: Manifest
  readonly files: ReadonlyMap<string, Uint8Array>
}

const MOST_FILES = 500
/** Maximum size in bytes of a text file that is compared line by line. */
const LARGEST_TEXT = 512 * 1024
/** Maximum number of lines that one comparison returns, in all files together. */
const MOST_LINES = 5000
/** Maximum length of a line, in characters. Longer lines are truncated. */
const LINE_WIDTH = 500
/** Maximum number of differing lines. The time for a comparison grows with the square of this number. */
const MOST_EDITS = 2000
/** Maximum time in ms that a comparison may block the host, for one text and in total. */
const TIMES: ComparingTimes = { one: 100, all: 1000 }

const CALLED_OUT = [
  'authenticator',
  'loginForm',
  'loginSolution',
  'modules',
  'permissions',
  'signIn',
  'databases',
  'http',
  'endpoints',
  'jobs',
] as const satisfies readonly (keyof Manifest)[]

/** The time limits for one text and for all texts together, in ms. */
export type ComparingTimes = { readonly one: number; readonly all: number }

export async function compareVersions(
  from: ComparedVersion,
  to: ComparedVersion,
  times: ComparingTimes = TIMES,
): Promise<VersionDifference> {
  const compared = await compareFiles(from.files, to.files, times)
  return { ...compared, manifest: compareManifests(from.manifest, to.manifest) }
}

/** Lets the host's other work run between files. */
export async function compareFiles(
  from: ComparedVersion['files'],
  to: ComparedVersion['files'],
  times: ComparingTimes = TIMES,
): Promise<Pick<VersionDifference, 'files' | 'moreFiles'>> {
  const { structuredPatch } = await import('diff')
  const names = [...new Set([...from.keys(), ...to.keys()])].sort()
  const changed = names.filter((name) => !isSame(from.get(name), to.get(name)))
  const left = { compare: structuredPatch, lines: MOST_LINES, timeOfOne: times.one, milliseconds: times.all }
  const files: ChangedFile[] = []
  for (const name of changed.slice(0, MOST_FILES)) {
    files.push(compareFile(name, from.get(name), to.get(name), left))
    await setImmediate()
  }
  return { files, moreFiles: changed.length - files.length }
}

function isSame(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one !== undefined && other !== undefined && Buffer.compare(one, other) === 0
}

type Left = {
  readonly compare: typeof structuredPatch
  lines: number
  milliseconds: number
  readonly timeOfOne: number
}

function compareFile(file: string, from: Uint8Array | undefined, to: Uint8Array | undefined, left: Left): ChangedFile {
  const change = from === undefined ? 'added' : to === undefined ? 'removed' : 'changed'
  const facts = { file, change, fromBytes: from?.length ?? null, toBytes: to?.length ?? null } as const
  if (from === undefined || to === undefined || !isText(from) || !isText(to)) {
    return { ...facts, hunks: null, isTooMuch: false }
  }
  const hunks = compareTexts(from, to, left)
  if (hunks === null) return { ...facts, hunks: null, isTooMuch: true }
  const listed = take(hunks, left)
  return { ...facts, hunks: listed, isTooMuch: listed.length < hunks.length }
}

/** Whether a file can be shown and edited as text. */
export function isText(content: Uint8Array): boolean {
  return isUtf8(content) && !content.includes(0)
}

/** @returns null if the comparison would take too long */
function compareTexts(from: Uint8Array, to: Uint8Array, left: Left): Hunk[] | null {
  const isTooLarge = from.length > LARGEST_TEXT || to.length > LARGEST_TEXT
  if (isTooLarge || left.lines <= 0 || left.milliseconds <= 0) return null
  const begun = performance.now()
  const options = { context: 3, maxEditLength: MOST_EDITS, timeout: Math.min(left.timeOfOne, left.milliseconds) }
  const patch = left.compare('', '', textOf(from), textOf(to), undefined, undefined, options)
  left.milliseconds -= performance.now() - begun
  return (
    patch?.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
      return { oldStart, oldLines, newStart, newLines, lines: lines.map(readable) }
    }) ?? null
  )
}

/** Returns as many whole hunks as fit. */
function take(hunks: readonly Hunk[], left: Left): Hunk[] {
  const listed: Hunk[] = []
  for (const hunk of hunks) {
    if (hunk.lines.length > left.lines) break
    left.lines -= hunk.lines.length
    listed.push(hunk)
  }
  return listed
}

function textOf(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8')
}

/**
 * Replaces bidirectional control characters, which can make a line look like a different line. Also truncates long
 * lines.
 */
function readable(line: string): string {
  const text = line.length > LINE_WIDTH ? `${line.slice(0, LINE_WIDTH)}…` : line
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '\u{fffd}')
}

export function compareManifests(from: Manifest, to: Manifest): ManifestChange[] {
  return CALLED_OUT.filter((key) => JSON.stringify(from[key]) !== JSON.stringify(to[key])).map((key) => {
    return { key, from: from[key] ?? null, to: to[key] ?? null }
  })
}
