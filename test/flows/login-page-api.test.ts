import { beforeAll, expect, test } from 'vitest'
import { renderLoginPreview } from '../../base/bundles/login-preview.ts'
import { defaultLoginTemplate } from '../../base/web/pages.ts'
import { apiOf, codeOf } from '../support/api.ts'
import { createVisitor } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { bundleOf } from '../support/zip.ts'

let host: Awaited<ReturnType<typeof sharedHost>>
const { send, get } = apiOf(() => host)
const I18N = { 'i18n/default.json': '{"hello":"Hello"}', 'i18n/nl_BE.json': '{"hello":"Dag"}' }

beforeAll(async () => {
  host = await sharedHost()
  const media = { 'media/a.txt': 'kept', 'README.md': 'kept too' }
  await host.upload('designed', await bundleOf({ name: 'designed', authenticator: 'DEFAULT' }, { ...I18N, ...media }))
  const page = '<form name="login_form" method="post"><input name="username" onclick="x()">\n<p style="a:b"></form>'
  await host.upload('odd', await bundleOf({ name: 'odd', authenticator: 'DEFAULT' }, { 'media/login.html': page }))
})

const STATES = [
  ...['first', 'passwordChanged', 'refused', 'outcome', 'throttled', 'busy', 'unavailable'],
  ...['passkeyRefused', 'expired', 'directoryAway'],
]

test('login page: a solution without a template has the default page, in the locales of the solution and the platform', async () => {
  expect(await get('/solutions/designed/login-page')).toEqual({
    hasTemplate: false,
    isUsed: false,
    warnings: [],
    locales: ['en', 'nl-BE', 'nl', 'de', 'fr', 'es'],
    states: STATES,
  })
})

test('login page: warnings about a template include the line and what to change', async () => {
  const { hasTemplate, isUsed, warnings } = await get('/solutions/odd/login-page')
  expect([hasTemplate, isUsed]).toEqual([true, false])
  expect(warnings).toContainEqual({
    file: 'media/login.html',
    line: 2,
    column: expect.any(Number),
    code: 'template_inline_style',
    message: expect.any(String),
    source: '<p style="a:b"></form>',
    advice: 'Move the style into a <style> element on the page.',
  })
})

test('login page: the starter template is returned as a file', async () => {
  const answer = await send('GET', '/solutions/designed/login-page/template')
  expect([answer.status, answer.headers['content-disposition']]).toEqual([200, 'attachment; filename="login.html"'])
  expect(answer.text).toBe(defaultLoginTemplate())
})

test('login page: an unknown solution returns 404', async () => {
  expect(codeOf(await send('GET', '/solutions/none/login-page'))).toEqual([404, 'ERR_SOLUTION_NOT_FOUND'])
})

test('login preview: it is the page that a browser gets, except for the token, nonce, reference and the host’s script', async () => {
  await host.upload('plain', await bundleOf({ name: 'plain', authenticator: 'DEFAULT' }, I18N))
  const visitor = createVisitor(host.url, { 'accept-language': 'nl-BE' })
  const path = '/solution/plain/index.html'
  const shown = [(await visitor.get(path)).text]
  shown.push((await visitor.post(path, { username: 'anna', password: 'wrong' })).text)
  shown.push((await visitor.post(path, { username: 'anna', password: 'wrong' }, { token: 'foreign' })).text)
  const solution = { template: null, texts: { default: {}, 'nl-BE': {} }, title: 'plain', passwordHelp: '' }
  const asked = [
    { state: 'first' },
    { state: 'refused', username: 'anna' },
    { state: 'expired', username: 'anna' },
  ] as const
  const previews = asked.map((each) => renderLoginPreview(solution, { locale: 'nl-BE', ...each }).html)
  expect(previews.map(bare)).toEqual(shown.map(bare))
})

/** Removes the parts of the page that differ in each response. */
function bare(html: string): string {
  return html
    .replace(
      /<script nonce="[^"]*">addEventListener\('DOMContentLoaded', \(\) => \{\n {2}const \[, token\][\s\S]*?<\/script>/,
      '',
    )
    .replace(/nonce="[^"]*"/g, 'nonce')
    .replace(/name="csrf_token" value="[^"]*"/, 'token')
    .replace(/PREVIEW|[0-9A-Z]{5}-[0-9A-Z]{5}/g, 'reference')
}
