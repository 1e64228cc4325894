import type { Entry, ZipFile } from 'yauzl'

export type ListedEntry = {
  /** As it may be shown; a sound name is shown as it is. */
  readonly name: string
  readonly entry: Entry
  /** Set once anything about the entry was refused: its content is then not read. */
  refused: boolean
}

export type Listing = {
  readonly file: ZipFile
  readonly entries: readonly ListedEntry[]
  /** Where the central directory starts in the zip. */
  readonly directoryStart: number
}
