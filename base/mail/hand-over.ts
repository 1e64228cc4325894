import type { Transporter } from 'nodemailer'
import type { MailSettings } from '../config/mail-settings.ts'
import { inTime } from '../program/in-time.ts'

/** An email's recipient and content. The content is plain text, so nothing in it is interpreted as markup. */
export type MailText = { readonly to: string; readonly subject: string; readonly text: string }

/**
 * The result of handing an email to the mail server. `refused`: the server rejected the email permanently, so it is not
 * retried.
 */
export type HandedOver =
  | { readonly outcome: 'sent' }
  | { readonly outcome: 'refused' | 'failed'; readonly reason: string }

export const HAND_OVER_TIME = 60_000
/** Timeouts in ms: to connect and receive the greeting, between two replies, and in total. */
const TIMES = { connect: 10_000, answer: 20_000, all: HAND_OVER_TIME }

/**
 * Hands emails to the mail server. It opens a new connection for each email, because there are few. The library is
 * imported only when the first email is sent, because most processes send none.
 */
export function createHandOver(
  settings: Omit<MailSettings, 'hourly'>,
  times = TIMES,
): (mail: MailText) => Promise<HandedOver> {
  const { host, port, tls, account, from } = settings
  let transport: Promise<Transporter> | null = null

  async function openTransport(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer')
    return createTransport({
      host,
      port,
      secure: tls === 'implicit',
      requireTLS: tls === 'required',
      // TLS is off only if the mail server is on loopback, where traffic can't be intercepted.
      ignoreTLS: tls === 'none',
      ...(account === null ? {} : { auth: { user: account.user, pass: account.password } }),
      connectionTimeout: times.connect,
      dnsTimeout: times.connect,
      greetingTimeout: times.connect,
      socketTimeout: times.answer,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }

  return async ({ to, subject, text }) => {
    const late = () => new Error(`the mail server did not accept the email within ${times.all / 1000} s`)
    try {
      const mail = { from: { ...from }, to: { name: '', address: to }, subject, text, disableFileAccess: true }
      transport ??= openTransport()
      const sent = transport.then((opened) => opened.sendMail(mail))
      await inTime(times.all, sent, late)
      return { outcome: 'sent' }
    } catch (error) {
      return whyNot(error)
    }
  }
}

/**
 * RFC 5321, section 4.2.1: 5yz replies are permanent. Failed authentication and missing TLS are retried, since the
 * operator can fix them.
 */
function whyNot(error: unknown): HandedOver {
  const {
    responseCode = 0,
    code = '',
    command = '',
    message,
  } = error as Error & {
    responseCode?: number
    code?: string
    command?: string
  }
  const isOfMail = code !== 'EAUTH' && code !== 'ETLS' && /^(MAIL FROM|RCPT TO|DATA)/.test(command)
  const what = responseCode === 0 ? message : `the mail server replied ${responseCode} to ${command}`
  const reason = [code, what].filter((part) => part !== '').join(': ')
  return { outcome: isOfMail && responseCode >= 500 ? 'refused' : 'failed', reason: reason.slice(0, 300) }
}
