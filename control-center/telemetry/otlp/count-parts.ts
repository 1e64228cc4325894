import protobuf from 'protobufjs/light.js'

/*
 * A decoded message takes several hundred bytes of memory, even if it is encoded in only two bytes. So a small
 * compressed body could exhaust the memory. These functions walk over the encoded bytes and count the objects that
 * decoding would create, without creating them.
 */

/**
 * Counts the messages in a protobuf request, and the numbers in its lists. Stops above `most`.
 * @throws if the body is malformed
 */
export function countMessages(type: protobuf.Type, body: Uint8Array, most: number): number {
  const reader = protobuf.Reader.create(body)
  const open = [{ type, end: body.length }]
  let count = 0
  for (let one = open.at(-1); one !== undefined && count <= most; one = open.at(-1)) {
    if (reader.pos >= one.end) {
      open.pop()
      continue
    }
    const tag = reader.uint32()
    const field = one.type.fieldsById[tag >>> 3]
    if ((tag & 7) !== 2) {
      if (field?.repeated) count++
      reader.skipType(tag & 7)
      continue
    }
    const length = reader.uint32()
    const end = reader.pos + length
    if (end > one.end) throw new RangeError('a field is longer than its message')
    const inner = field?.resolve().resolvedType
    if (inner instanceof protobuf.Type) {
      count++
      open.push({ type: inner, end })
    } else {
      // In a packed list, each number takes at least one byte.
      if (field?.repeated) count += Math.max(1, /fixed|double/.test(field.type) ? length / 4 : length)
      reader.skip(length)
    }
  }
  return count
}

const [QUOTE, BACKSLASH, COMMA, BRACE, BRACKET] = [...'"\\,{['].map((one) => one.charCodeAt(0))

/** Counts objects, lists and their entries in JSON, even if the JSON is invalid. */
export function countValues(body: Uint8Array): number {
  let count = 0
  let isText = false
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]
    if (byte === QUOTE) isText = !isText
    else if (isText) at += byte === BACKSLASH ? 1 : 0
    else if (byte === COMMA || byte === BRACE || byte === BRACKET) count++
  }
  return count
}
