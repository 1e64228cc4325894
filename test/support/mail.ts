import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export type ArrivedMail = {
  readonly from: string
  readonly to: readonly string[]
  /** The whole email as it was received, including the headers. */
  readonly raw: string
  readonly subject: string
  /** The email's text, decoded. */
  readonly text: string
}

/** An SMTP server on loopback. It stores the emails that it receives. */
export type TestMailServer = {
  /** The URL to use as `SMTP_URL`. */
  readonly url: string
  readonly port: number
  readonly mails: readonly ArrivedMail[]
  readonly stop: () => Promise<void>
}

type Options = SMTPServerOptions & { readonly user?: string; readonly password?: string }

export async function startMailServer({ user, password, ...options }: Options = {}, port = 0): Promise<TestMailServer> {
  const mails: ArrivedMail[] = []
  const server = new SMTPServer({
    logger: false,
    disableReverseLookup: true,
    authOptional: user === undefined,
    allowInsecureAuth: true,
    onAuth(auth, _session, done) {
      const isRight = auth.username === user && auth.password === password
      done(isRight ? null : new Error('wrong'), isRight ? { user: auth.username } : undefined)
    },
    onData(stream, session, done) {
      text(stream).then((raw) => {
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom === false ? '' : mailFrom.address
        mails.push({ from, to: rcptTo.map(({ address }) => address), raw, ...partsOf(raw) })
        done()
      }, done)
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  const at = (server.server.address() as AddressInfo).port
  const account = user === undefined ? '' : `${user}:${password}@`
  return {
    url: `smtp://${account}127.0.0.1:${at}`,
    port: at,
    mails,
    stop: () => new Promise<void>((done) => server.close(() => done())),
  }
}

function partsOf(raw: string): { readonly subject: string; readonly text: string } {
  const [head = '', ...body] = raw.split('\r\n\r\n')
  const header = (name: string) =>
    (new RegExp(`^${name}: (.*(?:\\r\\n[ \\t].*)*)`, 'im').exec(head)?.[1] ?? '').replace(/\r\n[ \t]/g, ' ')
  const content = body.join('\r\n\r\n').replace(/\r\n/g, '\n')
  const encoding = header('Content-Transfer-Encoding')
  if (encoding === 'base64') return { subject: header('Subject'), text: Buffer.from(content, 'base64').toString() }
  return { subject: header('Subject'), text: encoding === 'quoted-printable' ? unquoted(content) : content }
}

/** Decodes quoted-printable (RFC 2045, section 6.7). */
function unquoted(content: string): string {
  const bytes = content
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Returns the URL in the last email's text. */
export function linkOf({ mails }: TestMailServer): string {
  const link = /https?:\/\/\S+/.exec(mails.at(-1)?.text ?? '')?.[0]
  if (link === undefined) throw new Error('there is no mail with a link')
  return link
}
