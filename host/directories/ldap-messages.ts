/**
 * Checks the messages of a directory server before the library reads them. If the lengths in a message are
 * inconsistent, the library's parser loops forever and uses up the memory. The parser also recurses once for each
 * message in a chunk. Without this check, a malicious server could crash the host. Before StartTLS, anyone on the
 * network could do so too.
 */
export interface MessageReader {
  /**
   * Adds received bytes.
   * @returns the complete messages, without their controls (the host never requests any)
   * @throws Error if the bytes are not responses of an LDAP server
   */
  read(chunk: Buffer): Buffer[]
  /** Whether part of an incomplete message has been received. */
  hasRest(): boolean
}

/** Maximum bytes that one connection may receive. No lookup needs that many. */
const MOST_BYTES = 4 * 1024 ** 2
/**
 * After this number of messages, their average size must be at least `LEAST_AVERAGE` bytes. Entries are larger. Each
 * message takes the library some time, so a flood of tiny ones would block the host.
 */
const FEW_MESSAGES = 1000
const LEAST_AVERAGE = 32
/** Maximum bytes that an element's tag and length take up. */
const MOST_OF_START = 6

const TOO_MANY = `the directory server sent more than ${FEW_MESSAGES} messages that are too small to be entries`

/** BER tags in LDAP messages (RFC 4511, appendix B). */
const [INTEGER, STRING, ENUMERATED, SEQUENCE, SET] = [0x02, 0x04, 0x0a, 0x30, 0x31]
const [BIND, ENTRY, DONE, REFERENCE, EXTENDED] = [0x61, 0x64, 0x65, 0x73, 0x78]
const CONTROLS = 0xa0

/** A BER element (X.690): its tag, its start, and its contents. */
type Element = { readonly tag: number; readonly start: number; readonly from: number; readonly end: number }

export function createMessageReader(): MessageReader {
  /** The bytes of the incomplete message. */
  let chunks: Buffer[] = []
  let size = 0
  let received = 0
  let count = 0

  /** The size of the incomplete message; null if it isn't known yet. */
  function wanted(): number | null {
    const [start = Buffer.alloc(0)] = chunks
    return sizeAt(start.length < MOST_OF_START ? Buffer.concat(chunks) : start, 0)
  }

  function complete(bytes: Buffer): Buffer[] {
    const messages: Buffer[] = []
    let from = 0
    for (let end = sizeAt(bytes, from); end !== null && end <= bytes.length; end = sizeAt(bytes, from)) {
      if (++count > FEW_MESSAGES && received < count * LEAST_AVERAGE) throw new Error(TOO_MANY)
      messages.push(withoutControls(bytes.subarray(from, end)))
      from = end
    }
    size = bytes.length - from
    chunks = size === 0 ? [] : [bytes.subarray(from)]
    return messages
  }

  return {
    read(chunk) {
      received += chunk.length
      if (received > MOST_BYTES)
        throw new Error(`the directory server’s responses are larger than ${MOST_BYTES / 1024 ** 2} MB in total`)
      chunks.push(chunk)
      size += chunk.length
      // Concatenate only if the message is complete, because each time copies all of its bytes.
      return size >= (wanted() ?? Number.POSITIVE_INFINITY) ? complete(Buffer.concat(chunks)) : []
    },
    hasRest: () => size > 0,
  }
}

/** @returns where the message at `start` ends; null if its length hasn't been received yet */
function sizeAt(bytes: Buffer, start: number): number | null {
  if (start < bytes.length && bytes[start] !== SEQUENCE) throw notLdap()
  return elementAt(bytes, start)?.end ?? null
}

function withoutControls(message: Buffer): Buffer {
  const [root, ...others] = elementsIn(message, 0, message.length)
  const [id, operation, controls, ...more] = root?.tag === SEQUENCE ? childrenOf(message, root) : []
  const isMessage = others.length === 0 && more.length === 0 && isNumber(id, INTEGER) && operation !== undefined
  if (!isMessage || !isResponse(message, operation)) throw notLdap()
  if (controls === undefined) return message
  if (controls.tag !== CONTROLS) throw notLdap()
  const rest = message.subarray(id?.start, operation.end)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(rest.length)
  return Buffer.concat([Buffer.from([SEQUENCE, 0x84]), length, rest])
}

/** Whether an operation has the form that the library expects. */
function isResponse(message: Buffer, operation: Element): boolean {
  const parts = childrenOf(message, operation)
  const [first, second, third] = parts
  switch (operation.tag) {
    case BIND:
    case DONE:
    case EXTENDED:
      return isNumber(first, ENUMERATED) && second?.tag === STRING && third?.tag === STRING
    case REFERENCE:
      return parts.every(({ tag }) => tag === STRING)
    case ENTRY:
      return parts.length === 2 && first?.tag === STRING && second?.tag === SEQUENCE && areAttributes(message, second)
    default:
      return false
  }
}

function areAttributes(message: Buffer, list: Element): boolean {
  return childrenOf(message, list).every((attribute) => {
    const [type, values, ...more] = attribute.tag === SEQUENCE ? childrenOf(message, attribute) : []
    if (type?.tag !== STRING || values?.tag !== SET || more.length > 0) return false
    return childrenOf(message, values).every(({ tag }) => tag === STRING)
  })
}

function isNumber(element: Element | undefined, tag: number): boolean {
  if (element === undefined || element.tag !== tag) return false
  const length = element.end - element.from
  return length >= 1 && length <= 4
}

function childrenOf(message: Buffer, { from, end }: Element): Element[] {
  return elementsIn(message, from, end)
}

/** Splits a range of bytes into elements. @throws Error if they don't fill the range exactly */
function elementsIn(bytes: Buffer, from: number, end: number): Element[] {
  const found: Element[] = []
  for (let at = from; at < end; ) {
    const element = elementAt(bytes, at)
    if (element === null || element.end > end) throw notLdap()
    found.push(element)
    at = element.end
  }
  return found
}

/**
 * @returns the element at `start`; null if its length hasn't been received yet
 * @throws Error if LDAP doesn't use such a tag or length
 */
function elementAt(bytes: Buffer, start: number): Element | null {
  const [tag, first] = [bytes[start], bytes[start + 1]]
  if (tag === undefined || first === undefined) return null
  if (first < 0x80) return { tag, start, from: start + 2, end: start + 2 + first }
  const digits = first & 0x7f
  if (digits === 0 || digits > 4) throw notLdap()
  const from = start + 2 + digits
  if (bytes.length < from) return null
  return { tag, start, from, end: from + bytes.readUIntBE(start + 2, digits) }
}

function notLdap(): Error {
  return new Error('the directory server’s response is not a valid LDAP message')
}
