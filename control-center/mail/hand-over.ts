import { createTransport } from 'nodemailer'
import type { MailSettings } from './mail-settings.ts'

/** What a mail says, and to whom. Plain text: nothing in it can be markup. */
export type MailText = { readonly to: string; readonly subject: string; readonly text: string }

/** How handing over a mail ended. `refused`: the server will never take it, so it is not tried again. */
export type HandedOver =
  | { readonly outcome: 'sent' }
  | { readonly outcome: 'refused' | 'failed'; readonly reason: string }

export const HAND_OVER_TIME = 60_000
/** In ms: to connect and to be greeted, between two answers, and for all of it. */
const TIMES = { connect: 10_000, answer: 20_000, all: HAND_OVER_TIME }

/** Gives mails to the mail server, one connection for each: they are few. */
export function createHandOver(
  settings: Omit<MailSettings, 'hourly'>,
  times = TIMES,
): (mail: MailText) => Promise<HandedOver> {
  const { host, port, tls, account, from } = settings
  const transport = createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'required',
    // On loopback nobody listens, and mail servers there have certificates of nobody.
    ignoreTLS: tls === 'none',
    ...(account === null ? {} : { auth: { user: account.user, pass: account.password } }),
    connectionTimeout: times.connect,
    dnsTimeout: times.connect,
    greetingTimeout: times.connect,
    socketTimeout: times.answer,
    disableFileAccess: true,
    disableUrlAccess: true,
  })

  return async ({ to, subject, text }) => {
    const signal = Promise.withResolvers<never>()
    const timer = setTimeout(() => signal.reject(new Error('the mail server took too long')), times.all)
    try {
      const mail = { from: { ...from }, to: { name: '', address: to }, subject, text, disableFileAccess: true }
      await Promise.race([transport.sendMail(mail), signal.promise])
      return { outcome: 'sent' }
    } catch (error) {
      return whyNot(error)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** RFC 5321, section 4.2.1: 5 is for good. A wrong account or missing TLS is the operator's, who can put it right. */
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
  const what = responseCode === 0 ? message : `${responseCode} at ${command}`
  const reason = [code, what].filter((part) => part !== '').join(': ')
  return { outcome: isOfMail && responseCode >= 500 ? 'refused' : 'failed', reason: reason.slice(0, 300) }
}
