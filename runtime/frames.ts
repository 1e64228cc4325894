/**
 * Frames over a byte stream: four bytes of length (big endian), then the content. A frame longer than the receiver's
 * limit is rejected before any of it is buffered.
 * @param content a text is sent as UTF-8
 */
export function encodeFrame(content: string | Buffer): Buffer {
  const length = Buffer.byteLength(content)
  const frame = Buffer.allocUnsafe(4 + length)
  frame.writeUInt32BE(length, 0)
  if (typeof content === 'string') frame.write(content, 4)
  else content.copy(frame, 4)
  return frame
}

export type FrameReader = {
  /** Processes the next bytes; calls `onFrame` for each complete frame. @returns false if a frame exceeds the limit */
  readonly push: (chunk: Buffer) => boolean
}

/** @param maxBytes called for each frame, since the limit is raised while an upload is checked */
export function createFrameReader(maxBytes: () => number, onFrame: (content: Buffer) => void): FrameReader {
  let chunks: Buffer[] = []
  let buffered = 0

  function take(length: number): Buffer {
    const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
    const rest = all.subarray(length)
    chunks = rest.length > 0 ? [rest] : []
    buffered = rest.length
    return all.subarray(0, length)
  }

  let expected: number | null = null
  return {
    push(chunk) {
      chunks.push(chunk)
      buffered += chunk.length
      for (;;) {
        if (expected === null) {
          if (buffered < 4) return true
          expected = take(4).readUInt32BE(0)
          if (expected > maxBytes()) return false
        }
        if (buffered < expected) return true
        const content = take(expected)
        expected = null
        onFrame(content)
      }
    },
  }
}
