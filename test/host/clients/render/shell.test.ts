import { expect, test } from 'vitest'
import { PLATFORM_LOCALES, platformText } from '../../../../base/web/texts.ts'
import { renderShell, renderTexts, type ShellModel } from '../../../../host/clients/render/shell.ts'
import { CLOSED_WHY } from '../../../../host/web/frames.ts'

const model: ShellModel = {
  locale: 'nl-BE',
  nonce: 'dGVzdA',
  title: 'Orders <b>',
  scriptHref: '/client.js',
  socketHref: '/solution/orders/client',
  styleHref: '/solution/orders/media/style.css',
  user: { username: '<i>anna', logoutAction: '/solution/orders/logout', accountHref: null, formToken: '"token' },
}

test('shell: untrusted text is escaped', () => {
  const html = renderShell(model)
  expect(html).toContain('<title>Orders &lt;b&gt;</title>')
  expect(html).toContain('<bdi aria-hidden="true">&lt;i&gt;anna</bdi>')
  expect(html).toContain('value="&quot;token"')
})

test('shell: the solution’s style sheet comes after the platform’s', () => {
  const html = renderShell(model)
  expect(html.indexOf('<link rel="stylesheet" href="/solution/orders/media/style.css">')).toBeGreaterThan(
    html.indexOf('</style>'),
  )
  expect(renderShell({ ...model, styleHref: null })).not.toContain('rel="stylesheet"')
})

test('shell: every script and style has the nonce, and no attribute runs code', () => {
  const html = renderShell(model)
  expect(html.match(/<(script|style)\b(?! nonce="dGVzdA")/g)).toBe(null)
  expect(html).not.toMatch(/<[^>]+ (on\w+|style)=/)
})

test('shell: only a page in solhost dev loads the script and styles that show errors', () => {
  expect(renderShell(model)).not.toMatch(/dev\.js|dev-errors/)
  expect(renderShell({ ...model, devScriptHref: null })).toBe(renderShell(model))
  const html = renderShell({ ...model, devScriptHref: '/solution/orders/dev.js?1' })
  expect(html).toContain('<script nonce="dGVzdA" src="/solution/orders/dev.js?1"></script>\n  <script')
  expect(html).toContain('.dev-errors {')
})

test('shell: until the first form arrives, the page is busy and shows a placeholder', () => {
  const html = renderShell(model)
  expect(html).toContain(
    '<main id="client-form" data-socket="/solution/orders/client" aria-busy="true"><div class="opening">',
  )
  expect(html).toContain('<h1 class="hidden">Wordt geopend…</h1><div class="bars" aria-hidden="true"><span></span>')
  expect(renderShell({ ...model, form: '<form></form>' })).not.toMatch(/<main [^>]*aria-busy|class="opening"/)
})

test('shell: without a user, there is no sign-out button', () => {
  expect(renderShell({ ...model, user: null })).not.toContain('logout')
})

test('shell: only a client that opens on a login form has the form that turns its token into a session', () => {
  expect(renderShell(model)).not.toContain('client-sign-in')
  const signIn = { action: '/solution/orders/index.html?a=1&b="', formToken: '"token' }
  const html = renderShell({ ...model, user: null, signIn })
  expect(html).toContain(
    '<form id="client-sign-in" method="post" action="/solution/orders/index.html?a=1&amp;b=&quot;" autocomplete="off" hidden>' +
      '<input type="hidden" name="csrf_token" value="&quot;token"><input type="hidden" name="id_token"></form>',
  )
})

test.each(PLATFORM_LOCALES)('shell: the client script’s texts exist in %s', (locale) => {
  const { text } = renderTexts(locale)
  expect(text).not.toContain('!platform')
  expect(text).toContain(`data-again="${platformText(locale, 'platform.client.again')}"`)
  expect(text.match(/ data-closed-[a-z-]+="[^"]+"/g)).toHaveLength(CLOSED_WHY.length)
  expect(text).toContain(`data-locale="${locale}" data-direction="ltr"`)
})
