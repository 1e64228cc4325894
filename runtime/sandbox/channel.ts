import { read, writeSync } from 'node:fs'
import type { Socket } from 'node:net'

/** The stream of bytes between a sandbox process and its host. */
export type Channel = {
  readonly write: (bytes: Buffer) => void
  /** From now on, collects what is written. */
  readonly cork: () => void
  /** Writes what was collected. */
  readonly uncork: () => void
  /** Makes all later messages arrive faster. The first call takes 20 ms of CPU time. */
  readonly speedUp: () => void
}

/** The program's argument on systems where a pipe can't be written while a thread waits to read it. */
export const AS_SOCKET = 'socket'

/** Maximum number of bytes that one read returns. Linux buffers about this much. */
const READ_SIZE = 256 * 1024

/**
 * Opens the channel. Until `speedUp`, a thread waits for each message, because loading `node:net` takes 20 ms of CPU time,
 * a third of the start of a process, and many processes receive only a few messages. After that, messages arrive through a
 * Socket, which wakes one thread per message instead of two.
 * @param descriptor a pipe or socket that blocks
 * @param onBytes called with the bytes of each read
 * @param onEnd called if the host has closed the channel, or if it fails
 * @param asSocket whether to use a Socket from the beginning
 */
export function openChannel(
  descriptor: number,
  onBytes: (bytes: Buffer) => void,
  onEnd: () => void,
  asSocket: boolean,
): Channel {
  let wantsSocket = asSocket
  let socket: Socket | null = null
  let collected: Buffer[] | null = null

  function receiveNext(place: Buffer): void {
    if (wantsSocket) {
      socket = openSocket(descriptor, onBytes, onEnd)
      return
    }
    read(descriptor, place, 0, READ_SIZE, null, (error, size) => {
      if (error !== null || size === 0) return onEnd()
      onBytes(Buffer.from(place.subarray(0, size)))
      receiveNext(place)
    })
  }

  function writeNow(bytes: Buffer): void {
    if (socket !== null) {
      socket.write(bytes)
      return
    }
    try {
      // Waits until the host has read enough.
      for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
    } catch {
      onEnd()
    }
  }

  receiveNext(Buffer.allocUnsafeSlow(READ_SIZE))
  // Otherwise, Node.js would wait for the reading thread, and so for the host. Not SIGKILL, which the host would attribute
  // to the system.
  process.once('exit', () => {
    if (socket === null) process.kill(process.pid, 'SIGTERM')
  })
  return {
    write(bytes) {
      if (collected === null) writeNow(bytes)
      else collected.push(bytes)
    },
    cork() {
      collected ??= []
    },
    uncork() {
      const bytes = collected
      collected = null
      if (bytes !== null) writeNow(Buffer.concat(bytes))
    },
    speedUp() {
      // The next message switches to a Socket, which takes little time once the module is loaded.
      process.getBuiltinModule('node:net')
      wantsSocket = true
    },
  }
}

function openSocket(descriptor: number, onBytes: (bytes: Buffer) => void, onEnd: () => void): Socket {
  const { Socket } = process.getBuiltinModule('node:net')
  const socket = new Socket({ fd: descriptor, readable: true, writable: true })
  return socket.on('data', onBytes).on('close', onEnd).on('error', onEnd)
}
