import { crc32, type InflateRaw, inflateRaw, type ZlibOptions } from 'node:zlib'
import type { SoundEntry } from './zip-directory.ts'

type Inflated = { readonly buffer: Buffer; readonly engine: InflateRaw }

/**
 * Unpacks one entry. Inflating stops at the size that the directory declares, so the sum of those sizes bounds the
 * memory for all entries. It runs on zlib's own threads.
 * @returns problem: the mismatch, worded to follow the file's name
 */
export async function unpack(entry: SoundEntry): Promise<{ content: Uint8Array } | { problem: string }> {
  const unpacked = entry.stored ? copyStored(entry) : await inflate(entry)
  if ('problem' in unpacked) return unpacked
  if (unpacked.content.length !== entry.size)
    return { problem: `does not have the declared size of ${entry.size} bytes; create the ZIP file again` }
  if (crc32(unpacked.content) !== entry.crc32)
    return { problem: 'does not match its CRC-32 checksum, so the ZIP file is damaged; create it again' }
  return unpacked
}

/** Copy the bytes, so that a cached file does not keep the whole ZIP file in memory. */
function copyStored(entry: SoundEntry): { content: Uint8Array } | { problem: string } {
  if (entry.packed.length !== entry.size)
    return {
      problem:
        'is not compressed, but its compressed and uncompressed sizes differ in the ZIP file; create the ZIP file again',
    }
  return { content: new Uint8Array(entry.packed) }
}

async function inflate(entry: SoundEntry): Promise<{ content: Uint8Array } | { problem: string }> {
  // zlib rejects a limit of 0, so the limit is at least 1. The comparison of sizes detects the extra byte.
  const bound = Math.max(1, entry.size)
  const { promise, resolve } = Promise.withResolvers<{ content: Uint8Array } | { problem: string }>()
  const options = {
    info: true,
    maxOutputLength: bound,
    chunkSize: Math.min(65_536, Math.max(64, bound)),
  } as ZlibOptions
  inflateRaw(entry.packed, options, (error, result) => {
    if (error !== null) return resolve({ problem: problemOf(error, entry) })
    // With the option "info", the result is an object that contains the content. Node's types do not reflect this.
    const { buffer, engine } = result as unknown as Inflated
    if (engine.bytesWritten !== entry.packed.length)
      return resolve({ problem: 'is followed by unexpected data in the ZIP file; create the ZIP file again' })
    // Copy the content: a view into a larger buffer would keep the whole buffer in memory.
    resolve({ content: new Uint8Array(buffer) })
  })
  return promise
}

function problemOf(error: NodeJS.ErrnoException, entry: SoundEntry): string {
  if (error.code === 'ERR_BUFFER_TOO_LARGE')
    return `unpacks to more than the declared ${entry.size} bytes; create the ZIP file again`
  return `cannot be unpacked (${error.message}); create the ZIP file again`
}
