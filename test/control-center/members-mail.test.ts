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

test('where mail is set up, an invitation is sent in the inviting owner’s language', async () => {
  const browser = await signInToCenter(center)
  const wanted = { email: 'anna@example.org', role: 'developer' }
  const dutch = { 'accept-language': 'nl-BE' }
  const { body } = await browser.api('POST', 'organisations/acme/invitations', wanted, dutch)
  expect(body.isMailed).toBe(true)
  await expect.poll(() => mail.mails.length).toBe(1)
  expect(mail.mails[0]).toMatchObject({ to: ['anna@example.org'], subject: 'Uitnodiging voor Acme' })
  // Whoever invited does not see it: it would let him make the account of that address.
  expect(body.link).toBeUndefined()
  expect(linkOf(mail)).toContain(`${center.url}/invitation#token=`)
  expect((await browser.get('/o/acme/members')).text).toContain('A mail with the link is sent')
})

test('a title of several lines, which could be read as more of the mail, is refused', async () => {
  for (const title of ['Acme\r\nBcc: b@example.org', 'Acme\u2028now']) {
    expect((await center.api('PATCH', 'organisations/acme', { title })).status).toBe(422)
  }
})
