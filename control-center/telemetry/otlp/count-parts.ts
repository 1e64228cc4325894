import protobuf from 'protobufjs/light.js'

/*
 * A message of two bytes becomes an object of some hundred once it is read. What a request would become is counted by a walk over its
 * bytes, which makes nothing of them: a packed body of a few kB could fill the memory of everybody else.
 */

/** Messages, and numbers of lists, in a request of protobuf; counting ends above `most`. @throws for what is no such message */
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
      // Numbers that are packed into one field have a byte at least.
      if (field?.repeated) count += Math.max(1, /fixed|double/.test(field.type) ? length / 4 : length)
      reader.skip(length)
    }
  }
  return count
}

const [QUOTE, BACKSLASH, COMMA, BRACE, BRACKET] = [...'"\\,{['].map((one) => one.charCodeAt(0))

/** Objects, lists and their entries in JSON, whether it is sound or not. */
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
