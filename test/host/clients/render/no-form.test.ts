import { expect, test } from 'vitest'
import { createMessages } from '../../../../base/bundles/messages.ts'
import type { RenderContext } from '../../../../host/clients/render/context.ts'
import { renderNoForm, renderNotice } from '../../../../host/clients/render/no-form.ts'

const contextOf = (locale: string): RenderContext => ({
  form: '',
  locale,
  messages: createMessages({}, locale),
  permissions: new Set(),
  isTesting: false,
  mediaBase: '/solution/crm/media/',
})
const ANNA = {
  username: 'anna <b>',
  uid: '7',
  permissions: ['Users', '"quoted"'],
  tenant: ['acme', 7],
  loggedInAt: Date.UTC(2026, 4, 17, 9, 30),
}

test('no form: a solution without forms shows who is signed in, in the user’s language', () => {
  const { html, title } = renderNoForm('CRM & more', ANNA, contextOf('nl-BE'))
  expect(title).toBe('CRM & more')
  expect(html).toContain('<bdi>CRM &amp; more</bdi>')
  expect(html).toContain('<dd><bdi>anna &lt;b&gt;</bdi></dd>')
  expect(html).toContain('<bdi>Users</bdi>, <bdi>&quot;quoted&quot;</bdi>')
  expect(html).toContain('<bdi>acme</bdi>, <bdi>7</bdi>')
  expect(html).toContain('<dd>Nederlands (België) <code>nl-BE</code></dd>')
  expect(html).toContain('<time datetime="2026-05-17T09:30:00.000Z">17 mei 2026')
})

test('no form: if the user has no permissions and no tenant, the page says so', () => {
  const { html } = renderNoForm('CRM', { ...ANNA, permissions: [], tenant: null }, contextOf('en'))
  expect(html).toContain('<dd>No permissions</dd>')
  expect(html).toContain('<dd>No tenant</dd>')
})

test('no form: nobody needs to sign in to a solution that is open to everyone', () => {
  expect(renderNoForm('Map', null, contextOf('en')).html).toContain('This solution is open to everyone.')
})

test('no form: a notice replaces the form, as plain text', () => {
  expect(renderNotice('CRM', '<i>not</i> yours', contextOf('en')).html).toContain('&lt;i&gt;not&lt;/i&gt; yours')
})
