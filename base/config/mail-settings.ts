import { isLoopback } from './host-names.ts'
import { MailAddress } from './mail-address.ts'
import type { Property, ValuesOf } from './property.ts'

/** The mail server, and the sender of emails. */
export type MailSettings = {
  readonly host: string
  readonly port: number
  /**
   * - `implicit`: TLS from the first byte.
   * - `required`: STARTTLS. If the server doesn't support it, no email is sent.
   * - `none`: unencrypted, only on loopback.
   */
  readonly tls: 'implicit' | 'required' | 'none'
  readonly account: { readonly user: string; readonly password: string } | null
  readonly from: { readonly name: string; readonly address: string }
  /** Maximum number of emails per hour, for a host or for each organisation in a control center. */
  readonly hourly: number
}

type Values = ValuesOf<typeof MAIL_PROPERTIES>
type Server = Omit<MailSettings, 'from' | 'hourly'>

/** Chosen here: enough to invite a whole company in one morning, but too few for spam. */
export const MAILS_HOURLY = 500

/** The ports for submission with implicit TLS and with STARTTLS (RFC 8314, section 3.3). */
const PORTS = { 'smtps:': 465, 'smtp:': 587 } as const

export const MAIL_PROPERTIES = {
  SMTP_URL: {
    default: '',
    read: (text: string) => (text === '' ? null : readServer(text)),
    form: 'a URL such as smtp://user:password@host:port or smtps://…; if empty, no emails are sent',
    what: 'mail server for invitations and password reset links; TLS is required except on loopback',
    secret: true,
  },
  MAIL_FROM: {
    default: '',
    read: (text: string) => (text === '' ? null : readSender(text)),
    form: 'an address such as no-reply@example.org or Example <no-reply@example.org>',
    what: 'sender address of emails; required with SMTP_URL',
  },
  MAILS_HOURLY: {
    default: String(MAILS_HOURLY),
    read: (text: string) => (/^[1-9]\d{0,6}$/.test(text) ? Number(text) : undefined),
    form: 'a whole number from 1 to 9999999',
    what: 'maximum number of emails per hour. The limit applies separately to emails sent by operators and emails requested on login pages',
  },
} as const satisfies Record<string, Property>

/** Returns null if no emails are sent. If a mail server is set but no sender, `mailFaults` reports an error. */
export function mailSettingsOf(values: Values): MailSettings | null {
  const { SMTP_URL: server, MAIL_FROM: from } = values
  return server === null || from === null ? null : { ...server, from, hourly: values.MAILS_HOURLY }
}

export function mailFaults(values: Partial<Values>): readonly string[] {
  const isWanting = values.SMTP_URL !== null && values.MAIL_FROM === null
  return isWanting ? [`MAIL_FROM must be ${MAIL_PROPERTIES.MAIL_FROM.form} if SMTP_URL is set, but it is empty`] : []
}

function readServer(text: string): Server | undefined {
  const address = URL.parse(text)
  if (address === null || (address.protocol !== 'smtp:' && address.protocol !== 'smtps:')) return undefined
  if (address.hostname === '' || !/^\/?$/.test(address.pathname) || address.search !== '' || address.hash !== '') {
    return undefined
  }
  const host = address.hostname.replace(/^\[|\]$/g, '')
  const account = accountOf(address)
  if (account === undefined) return undefined
  const tls = address.protocol === 'smtps:' ? 'implicit' : isLoopback(address.hostname) ? 'none' : 'required'
  return { host, port: address.port === '' ? PORTS[address.protocol] : Number(address.port), tls, account }
}

function accountOf({ username, password }: URL): Server['account'] | undefined {
  if (username === '') return null
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    return undefined
  }
}

function readSender(text: string): MailSettings['from'] | undefined {
  const [, name = '', inner] = /^([^<>\r\n]{0,100})<([^<>]+)>$/.exec(text) ?? []
  const address = MailAddress.safeParse((inner ?? text).trim())
  return address.success ? { name: name.trim(), address: address.data } : undefined
}
