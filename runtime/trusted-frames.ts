import { encodeFrame } from './frames.ts'
import type { FromSandbox, ToSandbox, Trusted } from './protocol.ts'
import { unicodeEscape } from './template/escape.ts'

/**
 * The frames with the trusted part and its snapshots. They are large, and the same for all processes. Snapshots come
 * only from processes that have not received anything of a solution, because other solutions' contexts start from them.
 */
export type TrustedFrames = {
  /** The first frames for a process: 400 kB, and 700 kB more if a process has created the snapshot. */
  readonly prepare: () => readonly Buffer[]
  readonly hasClientSnapshot: () => boolean
  /** The frames that precede the work of a process for clients. They are 900 kB once the snapshot for clients exists. */
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

/** Call this if a process could not start from the frames' snapshot. The next process then creates new snapshots. */
export function forgetFrames(trusted: Trusted, frames: TrustedFrames): void {
  if (known.get(trusted) === frames) known.delete(trusted)
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

/** Passes the snapshot for clients to one process, or receives it from the process. */
export type SnapshotExchange = {
  /** @returns the frames to send before the message */
  readonly before: (message: ToSandbox) => readonly Buffer[]
  /** @returns false if only a process that a script has taken over can have sent the message */
  readonly accepts: (message: FromSandbox) => boolean
}

/**
 * Asks the process for the snapshot before it sends the process anything of a solution. The process responds before it
 * reads anything else, so its first message after the request is the response, and no script has influenced it.
 * @param isWrittenAtOnce whether the response can't be queued in the process while a script runs. Chosen here: otherwise
 *   (on Windows), each process creates its own snapshot.
 */
export function createSnapshotExchange(frames: TrustedFrames, isWrittenAtOnce: boolean): SnapshotExchange {
  let hasWork = false
  let owesSnapshot = false

  return {
    before(message) {
      if (hasWork) return []
      hasWork = true
      if (!isForClients(message) || !isWrittenAtOnce) return []
      owesSnapshot = !frames.hasClientSnapshot()
      return frames.forClients()
    },
    accepts(message) {
      if (message.kind === 'ready' || message.kind === 'unready') return true
      if (message.kind !== 'clientSnapshot') return !owesSnapshot
      if (!owesSnapshot) return false
      owesSnapshot = false
      frames.keepForClients(message.snapshot)
      return true
    },
  }
}

/** Whether a process with this first message needs the snapshot for clients. Almost every check also opens a client. */
function isForClients({ kind }: ToSandbox): boolean {
  return kind === 'serve' || kind === 'check' || kind === 'getReadyToCheck'
}

function encodeMessage(message: ToSandbox): Buffer {
  return encodeFrame(JSON.stringify(message))
}

/** Escapes all characters outside of ASCII in a JSON text. V8 stores and decodes ASCII in half the space and time. */
function inAscii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, unicodeEscape)
}
