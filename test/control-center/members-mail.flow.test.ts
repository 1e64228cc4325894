import { afterAll, beforeAll, expect, test } from 'vitest'
import { signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { linkOf, startMailServer, type TestMailServer } from '../support/mail.ts'

let mail: TestMailServer
let center: TestCenter
beforeAll(async () => {
  mail = await startMailServer()
  center = await startTestCenter({ SMTP_URL: mail.url, MAIL_FROM: 'Control center <no-reply@example.org>' })
})
afterAll(async () => {
  await center?.stop()
  await mail?.stop()
})

test('if email is configured, an invitation is sent in the inviting owner’s language', async () => {
  const browser = await signInToCenter(center)
  const wanted = { email: 'anna@example.org', role: 'developer' }
  const dutch = { 'accept-language': 'nl-BE' }
  const { body } = await browser.api('POST', 'organisations/acme/invitations', wanted, dutch)
  expect(body.isMailed).toBe(true)
  await expect.poll(() => mail.mails.length).toBe(1)
  expect(mail.mails[0]).toMatchObject({ to: ['anna@example.org'], subject: 'Uitnodiging voor Acme' })
  // The inviter must not see the link, because it would let them create the account for that address.
  expect(body.link).toBeUndefined()
  expect(linkOf(mail)).toContain(`${center.url}/invitation#token=`)
  expect((await browser.get('/o/acme/members')).text).toContain(
    'The invitation is sent by email. Its link can be used once and expires in 7 days.',
  )
})

test('a title with several lines, which could look like part of the email’s text, is rejected', async () => {
  for (const title of ['Acme\r\nBcc: b@example.org', 'Acme\u2028now']) {
    expect((await center.api('PATCH', 'organisations/acme', { title })).status).toBe(422)
  }
})

test('if an organisation is over its hourly mail limit, no invitation is created and no link is shown', async () => {
  const few = await startTestCenter({ SMTP_URL: mail.url, MAIL_FROM: 'no-reply@example.org', MAILS_HOURLY: '2' })
  try {
    const invite = (email: string) =>
      few.api('POST', 'organisations/acme/invitations', { email: `${email}@example.org`, role: 'viewer' })
    for (const one of ['a', 'b']) expect((await invite(one)).body.isMailed).toBe(true)
    const refused = await invite('c')
    expect(refused).toMatchObject({ status: 429, body: { code: 'ERR_THROTTLED' } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.text).not.toContain('token=')
    expect((await few.api('GET', 'organisations/acme/invitations')).body.items).toHaveLength(2)
    const users = 'organisations/acme/solutions/shop/users'
    const user = { username: 'anna', email: 'anna@example.org', invite: true }
    const created = await few.api('POST', users, user)
    expect([created.status, created.body.code]).toEqual([429, 'ERR_THROTTLED'])
    expect((await few.api('GET', users)).body.items).toEqual([])
  } finally {
    await few.stop()
  }
})
