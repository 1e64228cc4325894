/**
 * Builds a masked WebSocket frame, like those that browsers send. All bytes of the mask are zero (RFC 6455, section
 * 5.2).
 */
export function maskedFrame(
  payload: string,
  { isLast = true, opcode = 1 }: { readonly isLast?: boolean; readonly opcode?: number } = {},
): Buffer {
  const data = Buffer.from(payload)
  const first = (isLast ? 0x80 : 0) | opcode
  const length = Buffer.alloc(data.length < 126 ? 1 : 9)
  if (data.length < 126) length[0] = 0x80 | data.length
  else {
    length[0] = 0x80 | 127
    length.writeBigUInt64BE(BigInt(data.length), 1)
  }
  return Buffer.concat([Buffer.of(first), length, Buffer.alloc(4), data])
}
