import { expect, test } from 'vitest'
import { loginPageLocales, renderLoginPreview } from '../../../base/bundles/login-preview.ts'
import { LOGIN_STATE_NAMES, type LoginStateName } from '../../../base/bundles/login-states.ts'
import { platformText } from '../../../base/web/texts.ts'
import { compileTemplate } from '../../../runtime/template/compile-template.ts'

const TITLE = 'platform.logindialog.title'
const solution = {
  template: null,
  texts: { default: { [TITLE]: 'Shop' }, 'nl-BE': { [TITLE]: 'Winkel' } },
  title: 'Web shop & more',
  passwordHelp: '',
}
const LABEL_SHOWN = '#errorlabel{display:block!important}'

const render = (state: LoginStateName, more: object = {}) =>
  renderLoginPreview(solution, { locale: 'en', state, ...more }, 'n0nce').html

test('login preview: the error label is visible in the states after a failed attempt', () => {
  expect(LOGIN_STATE_NAMES.filter((state) => render(state).includes(LABEL_SHOWN))).toEqual([
    'refused',
    'outcome',
    'throttled',
    'busy',
  ])
})

test.each([
  ['first', null],
  ['passwordChanged', 'platform.password.changed'],
  ['refused', null],
  ['outcome', 'platform.login.outcome'],
  ['throttled', 'platform.login.throttled'],
  ['busy', 'platform.login.busy'],
  ['unavailable', 'platform.login.unavailable'],
  ['expired', 'platform.login.expired'],
  ['cloudAway', 'platform.login.cloud-away'],
  ['cloudRefused', 'platform.login.cloud-refused'],
  ['passkeyRefused', 'platform.step.passkey'],
  ['verify', 'platform.login.verify'],
] as const)('login preview: the state %s shows the notice %s', (state, key) => {
  const shown = /<p class="platform-notice" role="status">([^<]*)<\/p>/.exec(render(state, { locale: 'nl' }))?.[1]
  expect(shown).toBe(key === null ? undefined : platformText('nl', key, [5]))
})

test('login preview: states that show the reference of an error show a placeholder for it', () => {
  const referred = LOGIN_STATE_NAMES.filter((state) => render(state).includes('PREVIEW'))
  expect(referred).toEqual([
    'refused',
    'outcome',
    'throttled',
    'busy',
    'unavailable',
    'passkeyRefused',
    'expired',
    'cloudAway',
    'cloudRefused',
    'directoryAway',
    'verify',
  ])
})

test('login preview: the hidden token is empty, and the page contains no script of the host', () => {
  const html = render('first')
  expect(html).toContain('<input type="hidden" name="csrf_token" value="">')
  expect(html).not.toContain('id_token=(')
})

test('login preview: the username is kept and escaped', () => {
  expect(render('refused', { username: '"><script>1' })).toContain('value="&quot;&gt;&lt;script&gt;1"')
})

test('login preview: texts are taken from the solution’s message table for the locale', () => {
  expect(render('first')).toContain('<title>Shop – Web shop &amp; more</title>')
  expect(render('first', { locale: 'nl-BE' })).toContain('<title>Winkel – Web shop &amp; more</title>')
})

test('login preview: the default page shows the application’s name, and says what to do about a forgotten password if that is set', () => {
  const html = (look: object) => renderLoginPreview({ ...solution, ...look }, { locale: 'nl', state: 'first' }).html
  const application = 'platform.logindialog.application'
  const forgotten = 'platform.logindialog.forgotten'
  expect(html({})).toContain('<p class="application"><bdi>Web shop &amp; more</bdi></p>')
  expect(html({})).toContain('<p class="password-help"></p>')
  expect(html({ passwordHelp: 'Call <b>1234</b>.' })).toContain(
    '<p class="password-help">Call &lt;b&gt;1234&lt;/b&gt;.</p>',
  )
  // The solution's own texts take precedence, in the user's language.
  const texts = { nl: { [application]: 'Webwinkel', [forgotten]: 'Bel ons.' } }
  const own = html({ texts, passwordHelp: 'Call 1234.' })
  expect(own).toContain('<p class="application"><bdi>Webwinkel</bdi></p>')
  expect(own).toContain('<p class="password-help">Bel ons.</p>')
})

test('login preview: an earlier default template, without these texts, stays unchanged', () => {
  const source = `<title>%%i18n:${TITLE}%%</title><form method="post" accept-charset="UTF-8" name="login_form" role="form">
    <p id="errorlabel" class="errorlabel"></p><input type="text" name="username"><input type="password" name="password"></form>`
  const { template } = compileTemplate(source, 'media/login.html')
  const { html } = renderLoginPreview(
    { ...solution, template, passwordHelp: 'Call 1234.' },
    { locale: 'en', state: 'first' },
  )
  expect(html).toContain('<title>Shop</title>')
  expect(html).not.toMatch(/Web shop|1234/)
})

test('login preview: a template of the solution is rendered with values and nonces', () => {
  const source = `<title>%%i18n:${TITLE}%%</title><style>p{color:red}</style><form method="post" accept-charset="UTF-8"
    name="login_form" role="form"><p id="errorlabel" class="errorlabel">%%errorMessage%%</p><input type="text" name="username">
    <input type="password" name="password"></form>`
  const { template } = compileTemplate(source, 'media/login.html')
  const values = { errorMessage: 'i18n:platform.logindialog.title' }
  const preview = renderLoginPreview({ ...solution, template }, { locale: 'en', state: 'refused', values })
  expect(preview.html).toContain('role="alert">Shop</p>')
  expect(preview.html).toContain(`<style nonce="${preview.nonce}">p{color:red}</style>`)
})

test('login preview: can be shown in the solution’s and the platform’s locales', () => {
  expect(loginPageLocales(solution)).toEqual(['en', 'nl-BE', 'nl', 'de', 'fr', 'es'])
})
