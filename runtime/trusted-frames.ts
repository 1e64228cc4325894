import { encodeFrame } from './frames.ts'
import type { ToSandbox, Trusted } from './protocol.ts'
import { unicodeEscape } from './template/escape.ts'

/**
 * The frames with the trusted part and its snapshots. They are large, and the same for all processes. Snapshots come
 * only from processes that have not received anything of a solution, because other solutions' contexts start from them.
 */
export type TrustedFrames = {
  /** The first frames for a process: 400 kB, and 700 kB more if a process has created the snapshot. */
  readonly prepare: () => readonly Buffer[]
  readonly hasClientSnapshot: () => boolean
  /** The frames before the work of a process that needs the snapshot for clients (900 kB). */
  readonly forClients: () => readonly Buffer[]
  /** @param snapshot in base64 */
  readonly keep: (snapshot: string) => void
  /** @param snapshot in base64; undefined if the process could not create it */
  readonly keepForClients: (snapshot: string | undefined) => void
}

const known = new WeakMap<Trusted, TrustedFrames>()

/** Returns the frames that all processes with the same trusted part share. */
export function trustedFrames(trusted: Trusted): TrustedFrames {
  const frames = known.get(trusted) ?? createTrustedFrames(trusted)
  known.set(trusted, frames)
  return frames
}

export function forgetFrames(trusted: Trusted): void {
  known.delete(trusted)
}

export function createTrustedFrames(trusted: Trusted): TrustedFrames {
  const { limits, rehearsal } = trusted
  const data = encodeFrame(inAscii(JSON.stringify(trusted)))
  let snapshot = encodeFrame('')
  let clientSnapshot: Buffer | null = null

  return {
    prepare: () => [encodeMessage({ kind: 'prepare', limits, rehearsal }), data, snapshot],
    hasClientSnapshot: () => clientSnapshot !== null,
    forClients: () =>
      clientSnapshot === null
        ? [encodeMessage({ kind: 'createClientSnapshot' })]
        : [encodeMessage({ kind: 'clientSnapshot' }), clientSnapshot],
    keep(created) {
      snapshot = encodeFrame(Buffer.from(created, 'base64'))
    },
    keepForClients(created) {
      if (created !== undefined) clientSnapshot = encodeFrame(Buffer.from(created, 'base64'))
    },
  }
}

function encodeMessage(message: ToSandbox): Buffer {
  return encodeFrame(JSON.stringify(message))
}

/** Escapes all characters outside of ASCII in a JSON text. V8 stores and decodes ASCII in half the space and time. */
function inAscii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, unicodeEscape)
}
