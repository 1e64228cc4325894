import { expect, test } from 'vitest'
import { renderLoginPage } from '../../../base/bundles/login-page.ts'
import { LOGIN_STATES } from '../../../base/bundles/login-states.ts'
import { createPageCache, type OwnValues } from '../../../host/login/page-cache.ts'
import { compileTemplate } from '../../../runtime/template/compile-template.ts'
import type { CompiledTemplate } from '../../../runtime/template/compiled-template.ts'

const LOOK = { texts: {}, title: 'Geschäft – 店', passwordHelp: '' }
const PAGE = { ...LOGIN_STATES.first, locale: 'de', values: {}, messages: new Map(), fields: new Map() }
const PASSKEY = '{"challenge":"a&b=\'<c>\'","timeout":60000}'
const VERSION = {}

function pageOf(own: OwnValues, template: CompiledTemplate | null = null, correlationId = ''): string {
  return renderLoginPage({ ...LOOK, template }, PAGE, { ...own, correlationId, script: '"use"' })
}

const ownOf = (n: number, passkey: string | null = null): OwnValues => ({
  nonce: `n${n}`,
  formToken: `t_${n}-`,
  passkey,
})

/** A page of an author, with its own script and style, and text that looks like the names of the values. */
function authorsTemplate(): CompiledTemplate {
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
  const cache = createPageCache()
  for (let n = 0; n < 3; n++) {
    const own = ownOf(n, passkey)
    const page = cache.fill(VERSION, 'key', own, (values) => pageOf(values, template, `of response ${n}`)).toString()
    expect(page).toBe(pageOf(own, template))
    expect(page).toContain(`value="t_${n}-"`)
    expect(page.includes('data-passkey')).toBe(passkey !== null)
  }
})

test('a page is rendered once per version and key, and never with the values of a response', () => {
  const cache = createPageCache()
  const rendered: OwnValues[] = []
  const render = (own: OwnValues) => {
    rendered.push(own)
    return pageOf(own)
  }
  for (let n = 0; n < 8; n++) cache.fill(n < 4 ? VERSION : ownOf, `key ${n % 2}`, ownOf(n, PASSKEY), render)
  expect(rendered.length).toBe(4)
  for (const { nonce, formToken, passkey } of rendered) {
    for (const value of [nonce, formToken, passkey]) expect(value).toMatch(/^[\w-]{32}$/)
  }
})

test('pages that are too long are not cached, and the cache is cleared when it is full', () => {
  const cache = createPageCache()
  let count = 0
  const render = (more: string) => (own: OwnValues) => `${++count}${own.nonce}${more}`
  const fill = (key: string, n: number, more = '') => cache.fill(VERSION, key, ownOf(n), render(more)).toString()
  const long = 'ü'.repeat(32_000)
  expect([0, 1].map((n) => fill('long', n, long))).toEqual([`2n0${long}`, `3n1${long}`])
  for (let n = 0; n < 99; n++) fill(`key ${n}`, n)
  expect(fill('key 0', 7)).toBe('4n7')
  fill('key 99', 0)
  expect(fill('key 0', 8)).toBe('104n8')
})
