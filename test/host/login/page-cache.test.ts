import { expect, test } from 'vitest'
import { renderLoginPage } from '../../../base/bundles/login-page.ts'
import { LOGIN_STATES } from '../../../base/bundles/login-states.ts'
import { createPageCache, type OwnValues } from '../../../host/login/page-cache.ts'
import { compileTemplate } from '../../../runtime/template/compile-template.ts'

const LOOK = { template: null, texts: {}, title: 'Geschäft – 店', passwordHelp: '' }
const PAGE = { ...LOGIN_STATES.first, locale: 'de', values: {}, messages: new Map(), fields: new Map() }
const PASSKEY = '{"challenge":"a&b=\'<c>\'","timeout":60000}'

const pageOf = (own: OwnValues, template: (typeof LOOK | { template: object })['template'] = null) =>
  renderLoginPage({ ...LOOK, template: template as null }, PAGE, {
    ...own,
    correlationId: 'K7Q2M-9XD4A',
    script: '"use"',
  })

const ownOf = (n: number, passkey: string | null = null): OwnValues => ({
  nonce: `n${n}`,
  formToken: `t_${n}-`,
  passkey,
})

/** A page of an author, with its own script and style, and text that looks like the names of the values. */
function authorsTemplate() {
  const source = `<html><head><style>p { color: red }</style><script>'nonce formToken passkey'</script></head>
    <body><p>nonce</p><p id="errorlabel"></p><form name="login_form" id="login_form" method="post">
    <input name="username"><input type="password" name="password"><input type="submit"></form></body></html>`
  const { template } = compileTemplate(source, 'login.html')
  if (template === null) throw new Error('the template is invalid')
  return template
}

test.each([
  ['the default page', null, null],
  ['the default page with passkeys', null, PASSKEY],
  ['an author’s page', authorsTemplate(), null],
  ['an author’s page with passkeys', authorsTemplate(), PASSKEY],
])('%s: pages from the cache equal those that are rendered each time', (_page, template, passkey) => {
  const cached = createPageCache()
  for (let n = 0; n < 3; n++) {
    const own = ownOf(n, passkey)
    const page = cached('key', own, (values) => pageOf(values, template)).toString()
    expect(page).toBe(pageOf(own, template))
    expect(page).toContain(`value="t_${n}-"`)
    expect(page.includes('data-passkey')).toBe(passkey !== null)
  }
})

test('a page is rendered once per key, and never with the values of a response', () => {
  const cached = createPageCache()
  const rendered: OwnValues[] = []
  const render = (own: OwnValues) => {
    rendered.push(own)
    return pageOf(own)
  }
  for (let n = 0; n < 5; n++) cached(`key ${n % 2}`, ownOf(n, PASSKEY), render)
  expect(rendered.length).toBe(2)
  for (const { nonce, formToken, passkey } of rendered) {
    for (const value of [nonce, formToken, passkey]) expect(value).toMatch(/^[\w-]{32}$/)
  }
})

test('long pages are not cached, and the cache is cleared when it is full', () => {
  const cached = createPageCache()
  let count = 0
  const short = (own: OwnValues) => `${++count}${own.nonce}`
  const long = (own: OwnValues) => `${++count}${own.nonce}${'x'.repeat(64_000)}`
  expect([0, 1].map((n) => cached('long', ownOf(n), long).length)).toEqual([64_003, 64_003])
  expect(count).toBe(2)
  for (let n = 0; n < 100; n++) cached(`key ${n}`, ownOf(n), short)
  expect(cached('key 0', ownOf(7), short).toString()).toBe('3n7')
  cached('key 100', ownOf(0), short)
  expect(cached('key 0', ownOf(8), short).toString()).toBe('104n8')
})
