import { expect, test } from 'vitest'
import type { Connection } from '../../../host/clients/connection.ts'
import { createOutbox } from '../../../host/clients/outbox.ts'
import type { HostFrame } from '../../../host/web/frames.ts'

const HELLO: HostFrame = { kind: 'hello', client: 'c', seq: 0, isNew: false }
const message = (text: string): HostFrame => ({ kind: 'message', text, level: 'info' })

function browser() {
  const got: HostFrame[] = []
  return { got, connection: { send: (frame: HostFrame) => void got.push(frame) } as unknown as Connection }
}

test('outbox: a browser that reconnects gets one-time frames, but no changes that its form already shows', () => {
  const outbox = createOutbox()
  const once: HostFrame[] = [message('saved'), { kind: 'go', href: '/' }, { kind: 'leaving' }]
  outbox.send({ kind: 'busy' }, ...once, { kind: 'idle', seq: 1 })
  const { got, connection } = browser()
  outbox.attach(connection, HELLO)
  expect(got).toEqual([HELLO, ...once])
  outbox.send({ kind: 'busy' })
  expect(got.at(-1)).toEqual({ kind: 'busy' })
})

test('outbox: no frame is sent twice', () => {
  const outbox = createOutbox()
  outbox.send(message('once'))
  outbox.attach(browser().connection, HELLO)
  outbox.detach()
  expect(outbox.connection).toBeNull()
  const { got, connection } = browser()
  outbox.attach(connection, HELLO)
  expect(got).toEqual([HELLO])
})

test('outbox: it keeps at most twenty frames', () => {
  const outbox = createOutbox()
  for (let index = 0; index < 30; index++) outbox.send(message(String(index)))
  const { got, connection } = browser()
  outbox.attach(connection, HELLO)
  expect(got).toHaveLength(21)
})
