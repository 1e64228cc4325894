import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, describe, expect, test } from 'vitest'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { asPlatform, openCenterDatabase } from '../../control-center/database/open.ts'
import { createHandOver, type HandedOver } from '../../control-center/mail/hand-over.ts'
import { createMail } from '../../control-center/mail/mail.ts'
import { openPlatformKey } from '../../host/config/platform-key.ts'
import { startTestCenter } from '../support/center.ts'
import { startMailServer } from '../support/mail.ts'

let open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.reverse()) await one.stop()
  open = []
})
function closing<T extends { stop(): Promise<void> }>(one: T): T {
  open.push(one)
  return one
}

const settingsOf = (properties: Record<string, string>) => readCenterSettings({ PORT: '0', ...properties })
const handOverTo = (url: string) => {
  const { mail } = settingsOf({ SMTP_URL: url, MAIL_FROM: 'Acme <no-reply@example.org>' })
  if (mail === null) throw new Error('no mail settings')
  return createHandOver(mail)
}
const LETTER = { to: 'anna@example.org', subject: 'Grüße', text: 'Hello\nÄnna\n' }

const PLAIN = { host: '127.0.0.1', tls: 'none', account: null, from: { name: '', address: 'a@example.org' } } as const

describe('settings', () => {
  test('a mail server needs a sender, and neither may be wrong', () => {
    expect(settingsOf({}).mail).toBeNull()
    expect(() => settingsOf({ SMTP_URL: 'smtp://mail.example.org' })).toThrow(/MAIL_FROM must be .* is empty/)
    expect(() => settingsOf({ SMTP_URL: 'https://mail.example.org', MAIL_FROM: 'a@example.org' })).toThrow(/SMTP_URL/)
    expect(() => settingsOf({ SMTP_URL: 'smtp://h', MAIL_FROM: 'a@example.org, b@example.org' })).toThrow(/MAIL_FROM/)
  })

  test('TLS is asked for everywhere but on loopback', () => {
    const tlsOf = (url: string) => settingsOf({ SMTP_URL: url, MAIL_FROM: 'a@example.org' }).mail
    expect(tlsOf('smtp://u%40x:p%3A@mail.example.org')).toEqual({
      host: 'mail.example.org',
      port: 587,
      tls: 'required',
      account: { user: 'u@x', password: 'p:' },
      from: { name: '', address: 'a@example.org' },
    })
    expect(tlsOf('smtps://mail.example.org')).toMatchObject({ port: 465, tls: 'implicit', account: null })
    expect(tlsOf('smtp://127.0.0.1:2525')).toMatchObject({ port: 2525, tls: 'none' })
  })

  test('a password of the mail server is in no message', () => {
    const wrong = () => settingsOf({ SMTP_URL: 'smtp://user:hunter2@', MAIL_FROM: 'a@example.org' })
    expect(wrong).toThrow(/SMTP_URL/)
    expect(wrong).not.toThrow(/hunter2/)
  })
})

describe('handing over', () => {
  test('a mail arrives as it was written, from and to the right addresses', async () => {
    const server = closing(await startMailServer({ user: 'center', password: 'secret' }))
    expect(await handOverTo(server.url)(LETTER)).toEqual({ outcome: 'sent' })
    expect(server.mails).toMatchObject([{ from: 'no-reply@example.org', to: ['anna@example.org'], text: LETTER.text }])
    expect(server.mails[0]?.raw).toContain('From: Acme <no-reply@example.org>')
  })

  test('what looks like more headers or addresses stays one subject to one address', async () => {
    const server = closing(await startMailServer())
    await handOverTo(server.url)({ ...LETTER, subject: 'x\r\nBcc: eve@example.org\r\n\r\nbody' })
    expect(server.mails[0]?.to).toEqual(['anna@example.org'])
    expect(server.mails[0]?.raw).not.toMatch(/^Bcc:/m)
  })

  test.each<[string, number, HandedOver['outcome']]>([
    ['for good', 550, 'refused'],
    ['for now', 451, 'failed'],
  ])('a server that refuses the address %s', async (_case, responseCode, outcome) => {
    const server = closing(
      await startMailServer({
        onRcptTo: (_address, _session, done) => done(Object.assign(new Error('no'), { responseCode })),
      }),
    )
    expect(await handOverTo(server.url)(LETTER)).toMatchObject({ outcome })
  })

  test('a wrong password of the mail server is no refusal of the mail', async () => {
    const server = closing(await startMailServer({ user: 'center', password: 'other' }))
    const answer = await handOverTo(server.url.replace('other', 'wrong'))(LETTER)
    expect(answer).toMatchObject({ outcome: 'failed' })
    expect(JSON.stringify(answer)).not.toContain('wrong')
  })

  test('a server that is away', async () => {
    const server = await startMailServer()
    await server.stop()
    expect(await handOverTo(server.url)(LETTER)).toMatchObject({ outcome: 'failed' })
  })

  test('a server that never greets does not hold the queue up for ever', async () => {
    const server = closing(await listenSilently())
    const answer = createHandOver({ ...PLAIN, port: server.port }, { connect: 200, answer: 200, all: 1000 })(LETTER)
    expect(await answer).toMatchObject({ outcome: 'failed' })
  })

  test('without TLS nothing is sent to another machine', async () => {
    const server = closing(await listenPlainly({ hideSTARTTLS: true, disabledCommands: ['AUTH'] }))
    const handOver = createHandOver({ ...PLAIN, port: server.port, tls: 'required' })
    expect(await handOver(LETTER)).toMatchObject({ outcome: 'failed' })
  })
})

describe('the queue', () => {
  let clock = 1_000_000
  const now = () => clock

  /** A database of its own, and as many queues on it as asked for. */
  async function database() {
    const home = mkdtempSync(join(tmpdir(), 'mail-test-'))
    const db = await openCenterDatabase({ ...settingsOf({}), home })
    const key = await openPlatformKey(asPlatform(db), home, '')
    closing({
      async stop() {
        await db.destroy()
        rmSync(home, { recursive: true, force: true })
      },
    })
    const lines: unknown[] = []
    const log = pino({ base: null }, { write: (line: string) => void lines.push(line) })
    return {
      lines,
      queue: (handOver: () => Promise<HandedOver>) => createMail({ db, key, handOver, log }, now),
      waiting: () => db.selectFrom('mails').selectAll().execute(),
    }
  }

  test('what could not be sent is tried again, later each time, and is gone once it is sent', async () => {
    const { queue, waiting } = await database()
    const answers: HandedOver[] = [
      { outcome: 'failed', reason: 'away' },
      { outcome: 'failed', reason: 'away' },
      { outcome: 'sent' },
    ]
    const mail = queue(async () => answers.shift() as HandedOver)
    await mail.send(LETTER)
    await mail.deliverDue()
    expect((await waiting()).map(({ attempts, next_at }) => [attempts, next_at - clock])).toEqual([[1, 10_000]])
    await mail.deliverDue()
    expect(answers).toHaveLength(2)
    clock += 10_000
    await mail.deliverDue()
    expect((await waiting()).map(({ attempts, next_at }) => [attempts, next_at - clock])).toEqual([[2, 20_000]])
    clock += 20_000
    await mail.deliverDue()
    expect(await waiting()).toEqual([])
  })

  test('what is refused for good, and what failed for three days, is dropped with a line in the log', async () => {
    const { queue, waiting, lines } = await database()
    const answers: HandedOver[] = [
      { outcome: 'refused', reason: '550 at RCPT TO' },
      { outcome: 'failed', reason: 'away' },
      { outcome: 'failed', reason: 'away' },
    ]
    const mail = queue(async () => answers.shift() as HandedOver)
    await mail.send(LETTER)
    await mail.deliverDue()
    expect(await waiting()).toEqual([])
    await mail.send(LETTER)
    await mail.deliverDue()
    clock += 3 * 24 * 3_600_000
    await mail.deliverDue()
    expect(await waiting()).toEqual([])
    expect(JSON.stringify(lines)).not.toMatch(/anna|Hello/)
    expect(lines).toHaveLength(3)
  })

  test('two nodes send a mail once, and in the database nobody can read it', async () => {
    const { queue, waiting } = await database()
    let sent = 0
    const handOver = async (): Promise<HandedOver> => {
      sent++
      return { outcome: 'sent' }
    }
    const [one, other] = [queue(handOver), queue(handOver)]
    await one.send(LETTER)
    expect(JSON.stringify(await waiting())).not.toMatch(/anna|Hello/)
    await Promise.all([one.deliverDue(), other.deliverDue()])
    expect(sent).toBe(1)
  })

  test('a stop waits for the mails that are on their way, not for all that wait', async () => {
    const { queue, waiting, lines } = await database()
    const handedOver = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<HandedOver>()
    const mail = queue(() => {
      handedOver.resolve()
      return gate.promise
    })
    for (let count = 0; count < 10; count++) await mail.send(LETTER)
    const stop = mail.start()
    await handedOver.promise
    const stopped = stop()
    gate.resolve({ outcome: 'sent' })
    await stopped
    expect(await waiting()).toHaveLength(6)
    expect(lines).toEqual([])
  })

  test('a mail that waits at a restart is sent after it', async () => {
    const away = await startMailServer()
    await away.stop()
    const properties = { SMTP_URL: away.url, MAIL_FROM: 'a@example.org' }
    const home = mkdtempSync(join(tmpdir(), 'mail-test-'))
    closing({ stop: async () => rmSync(home, { recursive: true, force: true }) })
    const first = await startTestCenter(properties, { home })
    await first.parts.mail.send(LETTER)
    await first.stop()
    // As if its wait were over.
    const db = await openCenterDatabase({ ...settingsOf({}), home })
    expect((await db.updateTable('mails').set({ next_at: 0 }).executeTakeFirst()).numUpdatedRows).toBe(1n)
    await db.destroy()
    const server = closing(await startMailServer({}, away.port))
    closing(await startTestCenter(properties, { home }))
    await expect.poll(() => server.mails.length, { timeout: 10_000 }).toBe(1)
  })
})

async function listenPlainly(options: SMTPServerOptions) {
  const server = new SMTPServer({ ...options, logger: false })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.server.address() as AddressInfo
  return { port, stop: () => new Promise<void>((done) => server.close(() => done())) }
}

async function listenSilently() {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((done) => server.close(() => done()))
    },
  }
}
