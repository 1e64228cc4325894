import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { createHandOver, type HandedOver, type MailText } from '../../../base/mail/hand-over.ts'
import { createMail } from '../../../base/mail/mail.ts'
import { readCenterSettings } from '../../../control-center/config/settings.ts'
import { CENTER_MAIL } from '../../../control-center/mail/tables.ts'
import { openCenterDatabase } from '../../../control-center/migrations/open.ts'
import { startTestCenter } from '../../support/center.ts'
import { SERVER_START, type TestServer } from '../../support/database-server.ts'
import { sharedProperties } from '../../support/host-group.ts'
import { startMailServer } from '../../support/mail.ts'
import { postgresPath, sharedPostgres } from '../../support/postgres-server.ts'

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
  test('if a mail server is set, a sender is required, and both must be valid', () => {
    expect(settingsOf({}).mail).toBeNull()
    expect(() => settingsOf({ SMTP_URL: 'smtp://mail.example.org' })).toThrow(/MAIL_FROM must be .* is empty/)
    expect(() => settingsOf({ SMTP_URL: 'https://mail.example.org', MAIL_FROM: 'a@example.org' })).toThrow(/SMTP_URL/)
    expect(() => settingsOf({ SMTP_URL: 'smtp://h', MAIL_FROM: 'a@example.org, b@example.org' })).toThrow(/MAIL_FROM/)
  })

  test('TLS is required everywhere except on loopback', () => {
    const tlsOf = (url: string) => settingsOf({ SMTP_URL: url, MAIL_FROM: 'a@example.org' }).mail
    expect(tlsOf('smtp://u%40x:p%3A@mail.example.org')).toEqual({
      host: 'mail.example.org',
      port: 587,
      tls: 'required',
      account: { user: 'u@x', password: 'p:' },
      from: { name: '', address: 'a@example.org' },
      hourly: 500,
    })
    expect(tlsOf('smtps://mail.example.org')).toMatchObject({ port: 465, tls: 'implicit', account: null })
    expect(tlsOf('smtp://127.0.0.1:2525')).toMatchObject({ port: 2525, tls: 'none' })
  })

  test('no message contains the mail server’s password', () => {
    const wrong = () => settingsOf({ SMTP_URL: 'smtp://user:hunter2@', MAIL_FROM: 'a@example.org' })
    expect(wrong).toThrow(/SMTP_URL/)
    expect(wrong).not.toThrow(/hunter2/)
  })
})

describe('handing over', () => {
  test('an email arrives unchanged, with the correct sender and recipient', async () => {
    const server = closing(await startMailServer({ user: 'center', password: 'secret' }))
    expect(await handOverTo(server.url)(LETTER)).toEqual({ outcome: 'sent' })
    expect(server.mails).toMatchObject([{ from: 'no-reply@example.org', to: ['anna@example.org'], text: LETTER.text }])
    expect(server.mails[0]?.raw).toContain('From: Acme <no-reply@example.org>')
  })

  test('text that looks like additional headers or addresses stays a single subject or address', async () => {
    const server = closing(await startMailServer())
    await handOverTo(server.url)({ ...LETTER, subject: 'x\r\nBcc: eve@example.org\r\n\r\nbody' })
    expect(server.mails[0]?.to).toEqual(['anna@example.org'])
    expect(server.mails[0]?.raw).not.toMatch(/^Bcc:/m)
  })

  test.each<[string, number, HandedOver['outcome']]>([
    ['permanently', 550, 'refused'],
    ['temporarily', 451, 'failed'],
  ])('a mail server rejects the address %s', async (_case, responseCode, outcome) => {
    const server = closing(
      await startMailServer({
        onRcptTo: (_address, _session, done) => done(Object.assign(new Error('no'), { responseCode })),
      }),
    )
    expect(await handOverTo(server.url)(LETTER)).toMatchObject({ outcome })
  })

  test('if the mail server rejects the password, the email does not count as rejected', async () => {
    const server = closing(await startMailServer({ user: 'center', password: 'other' }))
    const answer = await handOverTo(server.url.replace('other', 'wrong'))(LETTER)
    expect(answer).toMatchObject({ outcome: 'failed' })
    expect(JSON.stringify(answer)).not.toContain('wrong')
  })

  test('if the mail server is down, the attempt counts as failed', async () => {
    const server = await startMailServer()
    await server.stop()
    expect(await handOverTo(server.url)(LETTER)).toMatchObject({ outcome: 'failed' })
  })

  test('a server that never sends a greeting blocks the queue only until a time limit', async () => {
    const server = closing(await listenSilently())
    const answer = createHandOver({ ...PLAIN, port: server.port }, { connect: 200, answer: 200, all: 1000 })(LETTER)
    expect(await answer).toMatchObject({ outcome: 'failed' })
  })

  test('without TLS, nothing is sent to another machine', async () => {
    const server = closing(await listenPlainly({ hideSTARTTLS: true, disabledCommands: ['AUTH'] }))
    const handOver = createHandOver({ ...PLAIN, port: server.port, tls: 'required' })
    expect(await handOver(LETTER)).toMatchObject({ outcome: 'failed' })
  })
})

let clock = 1_000_000
/** By how many ms the clock advances each time it is read. */
let tick = 0
const now = () => (clock += tick)

/** Opens a separate database. `queue` creates a mail queue in it. */
async function database(properties: Record<string, string> = {}) {
  const home = mkdtempSync(join(tmpdir(), 'mail-test-'))
  const db = await openCenterDatabase({ ...settingsOf(properties), home })
  const key = await openPlatformKey(db, home, properties.PLATFORM_KEY ?? '')
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
    queue: (handOver: (mail: MailText) => Promise<HandedOver>, hourly?: number) =>
      createMail({ db, service: CENTER_MAIL, key, handOver, log, hourly }, now),
    waiting: () => db.selectFrom('mails').selectAll().execute(),
    /** Inserts emails that are due in an hour. */
    async fill(organisation: string, count: number) {
      const at = { created_at: clock, next_at: clock + 3_600_000, attempts: 0 }
      const rows = Array.from({ length: count }, () => ({ id: randomUUID(), organisation, sealed: '', ...at }))
      for (let from = 0; from < count; from += 1000) {
        await db
          .insertInto('mails')
          .values(rows.slice(from, from + 1000))
          .execute()
      }
    },
  }
}

function testShares(properties: () => Record<string, string>): void {
  const of = (organisation: string, askedBy: 'member' | 'anybody' = 'member') => ({ organisation, askedBy })
  const to = (name: string) => ({ ...LETTER, to: `${name}@example.org` })

  test('emails of different organisations alternate: an organisation with one email does not wait for another’s thousands', async () => {
    const { queue } = await database(properties())
    const sent: string[] = []
    const mail = queue(async (letter) => {
      sent.push(letter.to.slice(0, -'@example.org'.length))
      return { outcome: 'sent' }
    })
    const many = Array.from({ length: 10 }, (_, one) => `many${one}`)
    for (const one of many) {
      await mail.send(to(one), of('many'))
      clock++
    }
    await mail.send(to('few0'), of('few'))
    await mail.send(to('few1'), of('few'))
    await mail.send(to('own'))
    await mail.deliverDue()
    expect(sent.slice(0, 4).sort()).toEqual(['few0', 'few1', 'many0', 'own'])
    // A batch is sent concurrently, so the order of the emails in it varies.
    expect(sent.slice(4, 8).sort()).toEqual(['many1', 'many2', 'many3', 'many4'])
    expect(sent.toSorted()).toEqual(['few0', 'few1', ...many, 'own'])
  })

  test('an organisation can send a limited number of emails per hour; others and the control center are not affected', async () => {
    const { queue, lines } = await database(properties())
    const mail = queue(async () => ({ outcome: 'sent' }), 3)
    clock = Math.ceil(clock / 3_600_000) * 3_600_000 + 30 * 60_000
    for (let one = 0; one < 3; one++) await mail.send(LETTER, of('acme'))
    for (const refused of [() => mail.send(LETTER, of('acme')), () => mail.needShare(of('acme'))]) {
      await expect(refused()).rejects.toMatchObject({
        code: 'ERR_THROTTLED',
        message: expect.stringMatching(
          /^The organisation has sent 3 emails this hour, .* Try again in 30 min, .*MAILS_HOURLY/,
        ),
        details: { retryAfter: 1800 },
      })
    }
    expect(lines).toHaveLength(1)
    await mail.send(LETTER, of('acme', 'anybody'))
    await mail.send(LETTER, of('other'))
    await mail.send(LETTER)
    clock += 30 * 60_000
    await mail.send(LETTER, of('acme'))
  })

  test('emails are counted correctly while the clock ticks, and if the clocks of two nodes differ or were wrong', async () => {
    const { queue } = await database(properties())
    const mail = queue(async () => ({ outcome: 'sent' }), 3)
    const send = (organisation: string) =>
      mail.send(LETTER, of(organisation)).then(
        () => 'sent',
        (error: { code: string }) => error.code,
      )
    const hour = Math.ceil(clock / 3_600_000) * 3_600_000
    clock = hour + 30 * 60_000
    tick = 1
    for (const answer of ['sent', 'sent', 'sent', 'ERR_THROTTLED']) expect(await send('ticks')).toBe(answer)
    tick = 0
    // The node whose clock is a second ahead has already begun the next hour.
    clock = hour + 3_600_000
    expect(await send('two-nodes')).toBe('sent')
    clock -= 1000
    for (const answer of ['sent', 'sent', 'ERR_THROTTLED']) expect(await send('two-nodes')).toBe(answer)
    await expect(mail.needShare(of('two-nodes'))).rejects.toMatchObject({ code: 'ERR_THROTTLED' })
    clock += 5 * 3_600_000
    for (const answer of ['sent', 'sent', 'sent', 'ERR_THROTTLED']) expect(await send('wrong')).toBe(answer)
    clock -= 5 * 3_600_000
    await mail.needShare(of('wrong'))
    for (const answer of ['sent', 'sent', 'sent', 'ERR_THROTTLED']) expect(await send('wrong')).toBe(answer)
  })

  test('all emails that are sent at the same time are counted', async () => {
    const { queue, waiting } = await database(properties())
    const mail = queue(async () => ({ outcome: 'sent' }), 5)
    const all = await Promise.allSettled(Array.from({ length: 12 }, () => mail.send(LETTER, of('acme'))))
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(await waiting()).toHaveLength(5)
  })

  test('each organisation can queue up to 1,000 emails, independently of others', async () => {
    const { queue, fill } = await database(properties())
    const mail = queue(async () => ({ outcome: 'failed', reason: 'away' }), 5000)
    await fill('acme', 999)
    await mail.send(LETTER, of('acme'))
    await expect(mail.send(LETTER, of('acme'))).rejects.toMatchObject({
      code: 'ERR_THROTTLED',
      message: expect.stringMatching(/^The organisation already has 1000 emails waiting to be sent/),
    })
    await expect(mail.needShare(of('acme', 'anybody'))).rejects.toMatchObject({ code: 'ERR_THROTTLED' })
    await mail.send(LETTER, of('other'))
    await fill('', 9000)
    await expect(mail.send(LETTER, of('other'))).rejects.toMatchObject({ code: 'ERR_MAIL_UNAVAILABLE' })
  })
}

describe('the queue', () => {
  test('an email that could not be sent is retried, with growing delays, and removed once it is sent', async () => {
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

  test('an email that is permanently rejected, or has failed for three days, is dropped with a log line', async () => {
    const { queue, waiting, lines } = await database()
    const answers: HandedOver[] = [
      { outcome: 'refused', reason: 'the mail server replied 550 to RCPT TO' },
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

  test('two nodes send each email once, and its content is encrypted in the database', async () => {
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

  test('stopping waits for emails that are being sent, but not for those that are queued', async () => {
    const { queue, waiting, lines } = await database()
    let handedOver = 0
    const gate = Promise.withResolvers<HandedOver>()
    const mail = queue(() => {
      handedOver++
      return gate.promise
    })
    for (let count = 0; count < 10; count++) await mail.send(LETTER)
    const stop = mail.start()
    await expect.poll(() => handedOver).toBe(4)
    const stopped = stop()
    gate.resolve({ outcome: 'sent' })
    await stopped
    expect(await waiting()).toHaveLength(6)
    expect(lines).toEqual([])
  })

  test('an email that the mail server does not respond to does not delay any other email', async () => {
    const { queue, waiting } = await database()
    const gate = Promise.withResolvers<HandedOver>()
    const sent: string[] = []
    const mail = queue(async ({ to }) => {
      if (to === 'stuck@example.org') return gate.promise
      sent.push(to)
      return { outcome: 'sent' }
    })
    const stop = mail.start()
    await mail.send({ ...LETTER, to: 'stuck@example.org' })
    await expect.poll(async () => (await waiting()).map(({ next_at }) => next_at > clock)).toEqual([true])
    for (let count = 1; count <= 10; count++) {
      await mail.send(LETTER)
      await expect.poll(() => sent.length).toBe(count)
    }
    gate.resolve({ outcome: 'sent' })
    await expect.poll(waiting).toEqual([])
    await stop()
  })

  test('an email that is queued while the search for due emails ends is sent too', async () => {
    const { queue, waiting } = await database()
    const mail = queue(async () => ({ outcome: 'sent' }))
    const stop = mail.start()
    for (let count = 0; count < 100; count++) await Promise.all([mail.send(LETTER), mail.send(LETTER)])
    await expect.poll(waiting).toEqual([])
    await stop()
  })

  test('an email that is queued during a restart is sent afterwards', async () => {
    const away = await startMailServer()
    await away.stop()
    const properties = { SMTP_URL: away.url, MAIL_FROM: 'a@example.org' }
    const home = mkdtempSync(join(tmpdir(), 'mail-test-'))
    closing({ stop: async () => rmSync(home, { recursive: true, force: true }) })
    const first = await startTestCenter(properties, { home })
    await first.parts.mail.send(LETTER)
    await first.stop()
    // Makes the email due now.
    const db = await openCenterDatabase({ ...settingsOf({}), home })
    expect((await db.updateTable('mails').set({ next_at: 0 }).executeTakeFirst()).numUpdatedRows).toBe(1n)
    await db.destroy()
    const server = closing(await startMailServer({}, away.port))
    closing(await startTestCenter(properties, { home }))
    await expect.poll(() => server.mails.length).toBe(1)
  })
})

describe('fair use of the mail queue, in the embedded database', () => testShares(() => ({})))

describe.skipIf(postgresPath === undefined)('fair use of the mail queue, in PostgreSQL', () => {
  let server: TestServer
  let number = 0
  beforeAll(async () => {
    server = await sharedPostgres()
  }, SERVER_START)
  afterAll(() => server?.stop())
  testShares(() => ({ ...sharedProperties('alpha', server), PLATFORM_DATABASE_NAME: `mails_${++number}` }))
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
