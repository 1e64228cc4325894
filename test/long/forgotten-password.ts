import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../support/database-server.ts'
import { startHostProcess } from '../support/host-process.ts'
import { ask } from '../support/http.ts'
import { startMailServer } from '../support/mail.ts'
import { addUser, visit } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'
import { percentile, type Rows } from './report.ts'

/** Number of users. Each name is entered once, because a user can have only three open links. */
const PAIRS = Number(process.env.LONG_PAIRS ?? 1000)
/**
 * The pause after each request and its email, in ms. It lets the host finish the work for one request before the next
 * one.
 */
const GAP = 30
const PAGE = '/solution/crm/forgotten-password'
const PASSWORD = 'secret-of-admin'

/**
 * Compares how long the response to a forgotten-password request takes for names that exist and for names that don't.
 */
export async function forgottenPassword(rows: Rows): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-forgotten-password-'))
  const server = await startMailServer()
  // Links in emails need PUBLIC_URL, so the port must be known before the host starts.
  const port = String(await freePort())
  const { child, url, gone } = await startHostProcess(home, {
    PORT: port,
    SERVLET_PASSWORD: PASSWORD,
    SMTP_URL: server.url,
    MAIL_FROM: 'no-reply@example.org',
    MAILS_HOURLY: String(10 * PAIRS),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
  })
  try {
    const admin = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
    const headers = { authorization: admin, 'content-type': 'application/zip' }
    const body = await bundleOf({ name: 'crm', authenticator: 'DEFAULT' })
    await ask(`${url}/admin/api/solutions/crm`, { method: 'PUT', headers, body })
    // All names have the same length, so that the length does not distinguish known from unknown names.
    for (let at = 0; at < PAIRS; at++) {
      await addUser({ url, admin }, nameOf('u', at), { email: `${nameOf('u', at)}@example.org` })
    }
    const times = await measure(url, server.mails)
    const [known, unknown] = [percentile(times.known, 50), percentile(times.unknown, 50)]
    rows.tell('pairs of requests; emails sent', `${PAIRS}; ${server.mails.length}`)
    rows.tell('median of the answer for a known name, ms', known)
    rows.tell('median of the answer for an unknown name, ms', unknown)
    rows.atMost('ratio of the medians, the longer one by the shorter one', 1.05, ratioOf(known, unknown))
    const quarters = [percentile(times.known, 25), percentile(times.unknown, 25)] as const
    rows.atMost('ratio of the lower quartiles', 1.05, ratioOf(...quarters))
  } finally {
    child.kill('SIGTERM')
    await gone
    await server.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

const nameOf = (kind: 'u' | 'x', at: number) => `${kind}-person-${String(at).padStart(5, '0')}`
const ratioOf = (one: number, other: number) => Math.max(one, other) / Math.min(one, other)

/** Requests links for known and unknown names alternately. Which kind is first alternates too. */
async function measure(url: string, mails: readonly unknown[]): Promise<{ known: number[]; unknown: number[] }> {
  const times = { known: [] as number[], unknown: [] as number[] }
  let mailsSent = 0
  const browser = await visit({ url }, 'crm')
  await browser.get(PAGE)
  async function time(username: string): Promise<number> {
    const start = performance.now()
    const { status, text } = await browser.post(PAGE, { username })
    const duration = performance.now() - start
    if (status !== 200 || !text.includes('If this account exists')) throw new Error(`${username}: ${status} ${text}`)
    if (username.startsWith('u-')) mailsSent++
    await waitUntil(() => mails.length === mailsSent || Promise.reject(new Error('an email is missing')), {
      interval: 5,
    })
    await wait(GAP)
    return duration
  }
  // Send some requests that are not measured, because the first ones are slower.
  for (let at = 0; at < 50; at++) await time(nameOf('x', PAIRS + at))
  for (let at = 0; at < PAIRS; at++) {
    for (const kind of at % 2 === 0 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)) {
      times[kind].push(await time(nameOf(kind === 'known' ? 'u' : 'x', at)))
    }
  }
  return times
}
