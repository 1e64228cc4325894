import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { structuredPatch } from 'diff'
import type { Manifest } from '../../runtime/bundle/manifest.ts'

/** A run of lines that differ, with three around it, as `diff -u` has it. */
export type Hunk = {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  /** Each begins with a space, `+` or `-`; `\` says that the line before has no line feed. */
  readonly lines: readonly string[]
}

export type ChangedFile = {
  readonly file: string
  readonly change: 'added' | 'removed' | 'changed'
  /** In bytes; null where there is no such file. */
  readonly fromBytes: number | null
  readonly toBytes: number | null
  /** Where a text was changed; null: it is no text, or `isTooMuch`. */
  readonly hunks: readonly Hunk[] | null
  /** The lines were not compared, or are not all told: there are too many. */
  readonly isTooMuch: boolean
}

/** What of a manifest decides who comes in and what scripts reach. */
export type ManifestChange = { readonly key: string; readonly from: unknown; readonly to: unknown }

export type VersionDifference = {
  /** By name; the first `MOST_FILES`. */
  readonly files: readonly ChangedFile[]
  readonly moreFiles: number
  readonly manifest: readonly ManifestChange[]
}

export type ComparedVersion = {
  readonly manifest: Manifest
  readonly files: ReadonlyMap<string, Uint8Array>
}

const MOST_FILES = 500
/** Larger texts are not compared line by line, in bytes. */
const LARGEST_TEXT = 512 * 1024
/** Lines told of one difference, over all files. */
const MOST_LINES = 5000
/** A line is cut after so many characters. */
const LINE_WIDTH = 500
/** Lines that two texts may differ in: the time that it takes to compare them grows with its square. */
const MOST_EDITS = 2000
/** The host does nothing else while two texts are compared: so long at most, in ms, for one and for all. */
const TIMES: ComparingTimes = { one: 100, all: 1000 }

const CALLED_OUT = [
  'authenticator',
  'loginForm',
  'loginSolution',
  'modules',
  'permissions',
  'databases',
  'http',
] as const satisfies readonly (keyof Manifest)[]

/** In ms. */
export type ComparingTimes = { readonly one: number; readonly all: number }

/** What changed between two versions of a solution. Other work of the host comes between the files. */
export async function compareVersions(
  from: ComparedVersion,
  to: ComparedVersion,
  times: ComparingTimes = TIMES,
): Promise<VersionDifference> {
  const names = [...new Set([...from.files.keys(), ...to.files.keys()])].sort()
  const changed = names.filter((name) => !isSame(from.files.get(name), to.files.get(name)))
  const left = { lines: MOST_LINES, timeOfOne: times.one, milliseconds: times.all }
  const files: ChangedFile[] = []
  for (const name of changed.slice(0, MOST_FILES)) {
    files.push(compareFile(name, from.files.get(name), to.files.get(name), left))
    await setImmediate()
  }
  return { files, moreFiles: changed.length - files.length, manifest: compareManifests(from.manifest, to.manifest) }
}

function isSame(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one !== undefined && other !== undefined && Buffer.compare(one, other) === 0
}

type Left = { lines: number; milliseconds: number; readonly timeOfOne: number }

function compareFile(file: string, from: Uint8Array | undefined, to: Uint8Array | undefined, left: Left): ChangedFile {
  const change = from === undefined ? 'added' : to === undefined ? 'removed' : 'changed'
  const facts = { file, change, fromBytes: from?.length ?? null, toBytes: to?.length ?? null } as const
  if (from === undefined || to === undefined || !isText(from) || !isText(to)) {
    return { ...facts, hunks: null, isTooMuch: false }
  }
  const hunks = compareTexts(from, to, left)
  if (hunks === null) return { ...facts, hunks: null, isTooMuch: true }
  const told = take(hunks, left)
  return { ...facts, hunks: told, isTooMuch: told.length < hunks.length }
}

function isText(content: Uint8Array): boolean {
  return isUtf8(content) && !content.includes(0)
}

/** @returns null where that would take too long */
function compareTexts(from: Uint8Array, to: Uint8Array, left: Left): Hunk[] | null {
  const isTooLarge = from.length > LARGEST_TEXT || to.length > LARGEST_TEXT
  if (isTooLarge || left.lines <= 0 || left.milliseconds <= 0) return null
  const begun = performance.now()
  const options = { context: 3, maxEditLength: MOST_EDITS, timeout: Math.min(left.timeOfOne, left.milliseconds) }
  const patch = structuredPatch('', '', textOf(from), textOf(to), undefined, undefined, options)
  left.milliseconds -= performance.now() - begun
  return (
    patch?.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
      return { oldStart, oldLines, newStart, newLines, lines: lines.map(readable) }
    }) ?? null
  )
}

/** Whole runs only, as many as there is room for. */
function take(hunks: readonly Hunk[], left: Left): Hunk[] {
  const told: Hunk[] = []
  for (const hunk of hunks) {
    if (hunk.lines.length > left.lines) break
    left.lines -= hunk.lines.length
    told.push(hunk)
  }
  return told
}

function textOf(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8')
}

/** As a person is to read it: without marks that turn text around, by which a line looks like another one. */
function readable(line: string): string {
  const text = line.length > LINE_WIDTH ? `${line.slice(0, LINE_WIDTH)}…` : line
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '\u{fffd}')
}

function compareManifests(from: Manifest, to: Manifest): ManifestChange[] {
  return CALLED_OUT.filter((key) => JSON.stringify(from[key]) !== JSON.stringify(to[key])).map((key) => {
    return { key, from: from[key] ?? null, to: to[key] ?? null }
  })
}
