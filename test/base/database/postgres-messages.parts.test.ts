import { createServer, type Server } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { alpha } from '../../../base/database/alpha.ts'
import { openOnServer } from '../../../base/database/open.ts'
import { createMessageCheck } from '../../../base/database/postgres-messages.ts'
import { createServerDatabase } from '../../../host/solution-databases/server-database.ts'
import { createLimits } from '../../../runtime/limits.ts'

/** An authentication request of an unknown type. The driver throws an exception when it parses this message. */
const UNKNOWN_LOGIN = Buffer.from('R\0\0\0\x08\0\0\x03\xe7', 'latin1')

let server: Server | null = null

afterEach(() => {
  server?.close()
  server = null
})

/** Starts a server that sends these bytes as soon as a client sends something. */
async function startServer(bytes: Buffer) {
  const started = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.write(bytes))
  })
  server = started
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve))
  const { port } = started.address() as { port: number }
  return { host: '127.0.0.1', port, username: 'solhost', password: 'secret', tls: 'off' } as const
}

function check(...chunks: readonly string[]): () => void {
  const checkMessages = createMessageCheck()
  return () => {
    for (const chunk of chunks) checkMessages(Buffer.from(chunk, 'latin1'))
  }
}

test('postgres messages: an error without an end is rejected, because the driver would look for its end forever', () => {
  expect(check('E\0\0\0\x07SA\0')).toThrow('a list of fields does not end')
  expect(check('N\0\0\0\x06SA')).toThrow('a list of fields does not end')
  expect(check('E\0\0\0\x04')).toThrow('a list of fields does not end')
  expect(check('Z\0\0\0\x05I', 'E\0\0', '\0\x07S', 'A\0')).toThrow('a list of fields does not end')
})

test('postgres messages: a length that is too small or larger than any message is rejected', () => {
  expect(check('Z\0\0\0\x03')).toThrow('a message has an invalid length')
  expect(check('D\x7f\xff\xff\xff')).toThrow('a message has an invalid length')
})

test('postgres messages: complete messages are accepted, in chunks of any size', () => {
  const messages = `E\0\0\0\x0cSFATAL\0\0N\0\0\0\x05\0${'1\0\0\0\x04'}D\0\0\0\x0b\0\x01\0\0\0\x01xZ\0\0\0\x05I`
  expect(check(messages)).not.toThrow()
  expect(check(...messages)).not.toThrow()
})

test('postgres messages: a message that the driver cannot parse makes the platform’s database unreachable', async () => {
  const opening = openOnServer(alpha, await startServer(UNKNOWN_LOGIN), 'platform')
  await expect(opening).rejects.toMatchObject({
    code: 'ERR_DATABASE_UNREACHABLE',
    message: expect.stringMatching(/does not respond \(EBADMSG\)\. Start it, or set DB_ALPHA_SERVER/),
  })
})

test('postgres messages: a message that the driver cannot parse makes a solution’s database unreachable', async () => {
  const target = { ...(await startServer(UNKNOWN_LOGIN)), database: 'orders' }
  const reports: string[] = []
  const database = await createServerDatabase({
    name: 'orders',
    kind: 'alpha',
    target,
    limits: createLimits(),
    onError: (message) => reports.push(message),
  })
  await expect(database.query({ sql: 'SELECT 1', parameters: [], tenant: null })).rejects.toThrow(
    'the server with the database orders is unreachable',
  )
  expect(reports).toEqual([expect.stringContaining('the server cannot be reached')])
  await database.kill()
})
