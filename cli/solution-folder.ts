import {
  closeSync,
  constants,
  type Dirent,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { SOLHOST } from '../base/program/program-name.ts'
import { CommandError } from '../base/terminal/command.ts'
import { MANIFEST } from '../runtime/bundle/layout.ts'

/** A solution on the author's disk, read once. */
export type SolutionFolder = {
  /** The path as the user typed it. */
  readonly shown: string
  /** The absolute path. */
  readonly path: string
  /** The files of the bundle, sorted by name. */
  readonly files: ReadonlyMap<string, Buffer>
}

/**
 * Maximum files and bytes in a folder. Chosen here: far more than a bundle can contain. The command stops early if the
 * folder is the wrong one.
 */
const MOST_FILES = 10_000
const MOST_BYTES = 512 * 1024 ** 2
const TEST_FILE = /\.test\.[jt]s$/

/** @throws CommandError if there is no folder or no manifest in it, or if a file cannot be part of a bundle */
export function readSolutionFolder(shown: string): SolutionFolder {
  const path = resolve(shown)
  if (!isFolder(path)) {
    const advice = `Specify the folder that contains solution.json, or create one with "${SOLHOST} init <name>".`
    throw new CommandError('usage', `The folder "${shown}" does not exist. ${advice}`)
  }
  if (!existsSync(join(path, MANIFEST))) {
    const below = entriesIn(path)?.find(({ name }) => existsSync(join(path, name, MANIFEST)))?.name
    const meant =
      below === undefined ? `Create a solution with "${SOLHOST} init <name>".` : `Did you mean "${join(shown, below)}"?`
    throw new CommandError('usage', `The folder "${shown}" contains no ${MANIFEST}. ${meant}`)
  }
  return { shown, path, files: readAll(path, namesBelow(path)) }
}

/** The author's tests, sorted by name. They are next to the scripts but not part of the bundle. */
export function readTestFiles(path: string): ReadonlyMap<string, Buffer> {
  const names = foldersOfSolution(path).flatMap((folder) =>
    (entriesIn(join(path, folder)) ?? [])
      .filter(({ name }) => TEST_FILE.test(name) && !name.startsWith('.'))
      .map((entry) => nameOf(entry, folder)),
  )
  return readAll(path, names)
}

/** The folders that can contain files of a solution, each with a trailing slash. The top folder is `''`. */
export function foldersOfSolution(path: string, prefix = '', found: string[] = []): string[] {
  const entries = entriesIn(join(path, prefix))
  if (entries === null) return found
  found.push(prefix)
  for (const entry of entries) {
    const folder = `${prefix}${entry.name}`
    if (found.length < MOST_FILES && entry.isDirectory() && !isLeftOut(folder))
      foldersOfSolution(path, `${folder}/`, found)
  }
  return found
}

/** Whether only the author's tools use the file. Editor backups, such as `x~` and `#x#`, are such files. */
export function isLeftOut(path: string): boolean {
  const name = basename(path)
  if (name.startsWith('.') || name === 'node_modules' || /~$|^#.*#$/.test(name)) return true
  if (/\.d\.ts$/.test(name) || TEST_FILE.test(name)) return true
  return /^(jsconfig|tsconfig|package|package-lock)\.json$|^[^/]+\.zip$/.test(path)
}

/**
 * Whether the folder contains a regular file with this name. Returns false for a symbolic link, because it may point
 * anywhere if the folder is from someone else.
 */
export function isOwnFile(path: string, name: string): boolean {
  return linkOnTheWay(path, name) === null && lstatSync(join(path, name), { throwIfNoEntry: false })?.isFile() === true
}

/** @throws CommandError if the file would be written through a link */
export function refuseLink(path: string, name: string): void {
  const link = linkOnTheWay(path, name)
  if (link === null) return
  throw new CommandError(
    'failed',
    `"${link}" is a symbolic link, so nothing was written there. Remove the link, then run the command again.`,
  )
}

/** Writes a file into the folder, never through a link. @throws CommandError */
export function writeOwnFile(path: string, name: string, content: string | Uint8Array): void {
  refuseLink(path, name)
  mkdirSync(dirname(join(path, name)), { recursive: true })
  writeFileSync(join(path, name), content)
}

function namesBelow(path: string): string[] {
  const folders = foldersOfSolution(path)
  if (folders.length === MOST_FILES) throw tooLarge(path, `${MOST_FILES} folders`)
  const names: string[] = []
  for (const folder of folders) {
    const entries = entriesIn(join(path, folder)) ?? []
    const own = entries.filter((entry) => !isLeftOut(`${folder}${entry.name}`))
    for (const entry of own) refuseUnreadableName(`${folder}${entry.name}`)
    names.push(...own.filter((entry) => !entry.isDirectory()).map((entry) => nameOf(entry, folder)))
    if (names.length > MOST_FILES) throw tooLarge(path, `${MOST_FILES} files`)
  }
  return names
}

/**
 * Chosen here: links are rejected, even within the folder. A bundle contains only regular files. If the folder is from
 * someone else, following a link in it could upload one of the user's private files.
 */
function nameOf(entry: Dirent, folder: string): string {
  const name = `${folder}${entry.name}`
  refuseUnreadableName(name)
  if (entry.isFile()) return name
  throw notRegular(name, entry.isSymbolicLink())
}

/** Node replaces bytes that are not UTF-8. No file has the resulting name, so it can't be read. */
function refuseUnreadableName(name: string): void {
  if (!name.includes('\ufffd')) return
  throw new CommandError('usage', `The name "${name}" is not valid UTF-8. Rename the file or folder.`)
}

function notRegular(name: string, isLink: boolean): CommandError {
  const what = isLink ? 'is a symbolic link' : 'is not a regular file'
  return new CommandError(
    'usage',
    `"${name}" ${what}, but a bundle can contain only regular files. Replace it with a regular file, or remove it.`,
  )
}

function readAll(path: string, names: string[]): ReadonlyMap<string, Buffer> {
  let bytes = 0
  const files = new Map<string, Buffer>()
  for (const name of names.sort()) {
    const content = readListedFile(path, name, MOST_BYTES - bytes)
    bytes += content.length
    files.set(name, content)
  }
  return files
}

/** Another program may replace the file after it was listed: the open must not follow a link, or wait for a pipe. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/**
 * Reads a file that was listed a moment ago.
 * @param most the maximum size in bytes
 * @throws CommandError
 */
export function readListedFile(path: string, name: string, most: number): Buffer {
  const file = join(path, name)
  try {
    const descriptor = openSync(file, READ)
    try {
      const found = fstatSync(descriptor)
      if (!found.isFile()) throw notRegular(name, false)
      if (found.size > most) throw tooLarge(path, `${MOST_BYTES / 1024 ** 2} MB`)
      return readFileSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ELOOP' || code === 'ENXIO') throw notRegular(name, code === 'ELOOP')
    throw unreadable(file, error as NodeJS.ErrnoException) ?? error
  }
}

/** Converts an error that the user can fix to a CommandError. @returns null for any other error */
function unreadable(path: string, { code }: NodeJS.ErrnoException): CommandError | null {
  if (code === 'ENOENT' || code === 'ENOTDIR') return new VanishedFile(path)
  if (code === 'ENAMETOOLONG')
    return new CommandError('usage', `The path "${path.slice(0, 100)}…" is too long. Remove or rename nested folders.`)
  if (code !== 'EACCES' && code !== 'EPERM') return null
  return new CommandError(
    'failed',
    `Cannot read "${path}" (${code}). Give the account that runs this command read access to it.`,
  )
}

/** A file was removed or renamed after the folder was listed. */
export class VanishedFile extends CommandError {
  constructor(path: string) {
    super('failed', `"${path}" was removed or renamed while the folder was being read. Run the command again.`)
  }
}

function tooLarge(path: string, what: string): CommandError {
  return new CommandError(
    'usage',
    `The folder "${basename(path)}" contains more than ${what}. Check that you specified the solution’s folder and not a parent folder.`,
  )
}

/** The first link on the path from the folder to the file, including the file; null if there is none. */
function linkOnTheWay(path: string, name: string): string | null {
  const parts = name.split('/')
  const places = parts.map((_, index) => join(path, ...parts.slice(0, index + 1)))
  return places.find((place) => lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true) ?? null
}

/** @returns null if the folder doesn't exist, since it may be removed at any time */
function entriesIn(folder: string): Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw unreadable(folder, error as NodeJS.ErrnoException) ?? error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
