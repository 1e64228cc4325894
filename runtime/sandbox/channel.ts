import { read, writeSync } from 'node:fs'

/** The stream of bytes between a sandbox process and its host. */
export type Channel = {
  readonly write: (bytes: Buffer) => void
  /** From now on, collects what is written. */
  readonly cork: () => void
  /** Writes what was collected. */
  readonly uncork: () => void
}

/** The program's argument on systems without duplex pipes. */
export const AS_SOCKET = 'socket'

/** Maximum number of bytes that one read returns. */
const READ_SIZE = 65_536

/**
 * Opens the channel. Reads and writes the descriptor directly, because loading `node:net` takes a quarter of the CPU time
 * in which a process starts. Writing waits until the host has read enough.
 * @param descriptor a pipe or socket that blocks
 * @param onBytes called with the bytes of each read
 * @param onEnd called if the host has closed the channel, or if it fails
 * @param asSocket needed on systems where a pipe can't be written while another thread waits to read it
 */
export function openChannel(
  descriptor: number,
  onBytes: (bytes: Buffer) => void,
  onEnd: () => void,
  asSocket: boolean,
): Channel {
  if (asSocket) return openSocket(descriptor, onBytes, onEnd)
  const place = Buffer.allocUnsafeSlow(READ_SIZE)
  let collected: Buffer[] | null = null

  function readNext(): void {
    read(descriptor, place, 0, READ_SIZE, null, (error, size) => {
      if (error !== null || size === 0) return onEnd()
      onBytes(Buffer.from(place.subarray(0, size)))
      readNext()
    })
  }

  function writeNow(bytes: Buffer): void {
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
    } catch {
      onEnd()
    }
  }

  readNext()
  // Otherwise, Node.js would wait for the reading thread, and so for the host. Not SIGKILL, which the host would attribute
  // to the system.
  process.once('exit', () => process.kill(process.pid, 'SIGTERM'))
  return {
    write(bytes) {
      if (collected === null) writeNow(bytes)
      else collected.push(bytes)
    },
    cork() {
      collected ??= []
    },
    uncork() {
      if (collected !== null) writeNow(Buffer.concat(collected))
      collected = null
    },
  }
}

function openSocket(descriptor: number, onBytes: (bytes: Buffer) => void, onEnd: () => void): Channel {
  const { Socket } = process.getBuiltinModule('node:net')
  const socket = new Socket({ fd: descriptor, readable: true, writable: true })
  socket.on('data', onBytes).on('close', onEnd).on('error', onEnd)
  return {
    write: (bytes) => void socket.write(bytes),
    cork: () => socket.cork(),
    uncork() {
      while (socket.writableCorked > 0) socket.uncork()
    },
  }
}
