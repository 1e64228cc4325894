import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A queued request body for the collector. `count` is the number of data points, log records or spans in it. */
export type Batch = { readonly name: string; readonly count: number; readonly format: Format; readonly size: number }
export type Format = 'pb' | 'json'

/**
 * The batches of one signal, oldest first. Each is a file in a folder, so that it survives a restart. If the queue is
 * too large, the oldest batches are dropped. All operations are asynchronous.
 */
export interface BatchQueue {
  /** Loads the batches left by an earlier process. */
  open(): Promise<void>
  /** Adds a batch. It never rejects: batches that can't be written are dropped and reported. */
  put(body: Uint8Array, count: number, format: Format): Promise<void>
  oldest(): Batch | null
  /** @returns null if the file is missing or unreadable; the batch is then removed from the queue */
  read(batch: Batch): Promise<Uint8Array | null>
  remove(batch: Batch): Promise<void>
  /** The total size of the batches, in bytes. */
  size(): number
}

/** `busy`: too many batches arrived at the same time. */
export type DropReason = 'queue_full' | 'disk' | 'refused' | 'busy'

export type BatchQueueOptions = {
  readonly folder: string
  /** Maximum total size of the batches, in bytes. */
  readonly bound: number
  readonly dropped: (count: number, reason: DropReason) => void
}

/** Sequence numbers have a fixed width, so that file names sort in the order of arrival. */
const DIGITS = 12
const NAME = /^(\d{12})-(\d{1,9})\.(pb|json)$/

export function createBatchQueue({ folder, bound, dropped }: BatchQueueOptions): BatchQueue {
  let batches: Batch[] = []
  let size = 0
  let number = 0
  /** Writes are sequential, which preserves the order and enforces the size limit. */
  let writing: Promise<void> = Promise.resolve()

  function forget(batch: Batch): boolean {
    const place = batches.indexOf(batch)
    if (place < 0) return false
    batches.splice(place, 1)
    size -= batch.size
    return true
  }

  async function makeRoom(wanted: number): Promise<void> {
    while (size + wanted > bound && batches[0] !== undefined) await drop(batches[0], 'queue_full')
  }

  async function drop(batch: Batch, reason: DropReason): Promise<void> {
    if (!forget(batch)) return
    dropped(batch.count, reason)
    await rm(join(folder, batch.name), { force: true }).catch(() => {})
  }

  async function write(body: Uint8Array, count: number, format: Format): Promise<void> {
    if (body.length > bound) return dropped(count, 'queue_full')
    await makeRoom(body.length)
    const name = `${String(++number).padStart(DIGITS, '0')}-${count}.${format}`
    const file = join(folder, name)
    try {
      await writeFile(`${file}.part`, body, { mode: 0o600 })
      await rename(`${file}.part`, file)
    } catch {
      dropped(count, 'disk')
      await rm(`${file}.part`, { force: true }).catch(() => {})
      return
    }
    batches.push({ name, count, format, size: body.length })
    size += body.length
  }

  return {
    async open() {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const found: Batch[] = []
      for (const name of (await readdir(folder)).sort()) {
        const [, digits, count, format] = NAME.exec(name) ?? []
        // An earlier process exited before it had written this file completely.
        if (name.endsWith('.part')) await rm(join(folder, name), { force: true })
        if (digits === undefined) continue
        number = Math.max(number, Number(digits))
        const { size: bytes } = await stat(join(folder, name))
        found.push({ name, count: Number(count), format: format as Format, size: bytes })
        size += bytes
      }
      batches = [...found, ...batches]
      await makeRoom(0)
    },
    put(body, count, format) {
      writing = writing.then(() => write(body, count, format))
      return writing
    },
    oldest: () => batches[0] ?? null,
    async read(batch) {
      try {
        return await readFile(join(folder, batch.name))
      } catch {
        if (forget(batch)) dropped(batch.count, 'disk')
        return null
      }
    },
    async remove(batch) {
      forget(batch)
      await rm(join(folder, batch.name), { force: true }).catch(() => {})
    },
    size: () => size,
  }
}
