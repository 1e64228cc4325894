import { setImmediate } from 'node:timers/promises'
import { insertOnce } from '../../base/database/portable.ts'
import type { HostDatabase } from '../database/tables.ts'

/*
 * Larger media files are stored a second time, in pieces. To return a part of a column's value, SQLite reads the whole
 * value. Pieces avoid this when only a part of a file is sent. Chosen here: `media` also keeps the whole file, because
 * hosts of the previous version read it from there during an upgrade.
 */

/** The size of a piece, in bytes. Files up to this size are not split. */
export const PIECE_SIZE = 64 * 1024

type MediaKey = { readonly solution: string; readonly sha256: string; readonly path: string }

/** Called in the transaction that writes the file, so that a file has either all of its pieces or none. */
export async function writePieces(
  db: HostDatabase,
  { solution, sha256, path, content }: MediaKey & { readonly content: Uint8Array },
): Promise<void> {
  if (content.length <= PIECE_SIZE) return
  for (let piece = 0; piece * PIECE_SIZE < content.length; piece++) {
    const part = content.subarray(piece * PIECE_SIZE, (piece + 1) * PIECE_SIZE)
    await insertOnce(db, 'media_pieces', { solution, sha256, path, piece, content: part })
    // SQLite's driver is synchronous, so yield to other requests between pieces.
    await setImmediate()
  }
}

/**
 * @returns a function that reads a file of `size` bytes lazily, piece by piece; it throws if the version is erased in
 *   the meantime
 */
export function createMediaReader(db: HostDatabase): (key: MediaKey, size: number) => AsyncGenerator<Uint8Array, void> {
  /** Split files sequentially, so that only one whole file is in memory at a time. */
  let divided: Promise<unknown> = Promise.resolve()

  const fileOf = ({ solution, sha256, path }: MediaKey) =>
    db.selectFrom('media').where('solution', '=', solution).where('sha256', '=', sha256).where('path', '=', path)

  async function readWhole(key: MediaKey): Promise<Uint8Array> {
    return (await fileOf(key).select('content').executeTakeFirstOrThrow()).content
  }

  async function findPiece({ solution, sha256, path }: MediaKey, piece: number): Promise<Uint8Array | undefined> {
    const query = db
      .selectFrom('media_pieces')
      .select('content')
      .where('solution', '=', solution)
      .where('sha256', '=', sha256)
      .where('path', '=', path)
      .where('piece', '=', piece)
    return (await query.executeTakeFirst())?.content
  }

  /** Splits a file that has no pieces yet. Files from a backup or from a host of the previous version have none. */
  function divide(key: MediaKey): Promise<void> {
    const done = divided.then(async () => {
      if ((await findPiece(key, 0)) !== undefined) return
      const content = await readWhole(key)
      await db.transaction().execute((transaction) => writePieces(transaction, { ...key, content }))
    })
    divided = done.catch(() => {})
    return done
  }

  async function readPiece(key: MediaKey, piece: number): Promise<Uint8Array> {
    let found = await findPiece(key, piece)
    if (found === undefined && piece === 0) {
      await divide(key)
      found = await findPiece(key, piece)
    }
    if (found === undefined) throw new Error('the solution version that contains this media file was erased')
    return found
  }

  return async function* read(key, size) {
    if (size <= PIECE_SIZE) {
      yield await readWhole(key)
      return
    }
    for (let piece = 0; piece * PIECE_SIZE < size; piece++) {
      yield await readPiece(key, piece)
      await setImmediate()
    }
  }
}
