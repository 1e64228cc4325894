import type { Entry, ZipFile } from 'yauzl'

export type ListedEntry = {
  /** The name, made safe to display. A valid name is unchanged. */
  readonly name: string
  readonly entry: Entry
  /** Set once anything about the entry was rejected. The entry's content is then not read. */
  refused: boolean
}

export type Listing = {
  readonly file: ZipFile
  readonly entries: readonly ListedEntry[]
  /** Offset of the central directory in the ZIP file. */
  readonly directoryStart: number
}
