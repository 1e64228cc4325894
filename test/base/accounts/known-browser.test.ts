import { expect, test } from 'vitest'
import { createKnownBrowsers } from '../../../base/accounts/known-browser.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { koaContext } from '../../support/koa-context.ts'

const SCOPE = { realm: 'crm', secure: false, ownHost: false }
const DAY = 86_400_000
/** A simulated key. It creates a different signature for each purpose and text. */
const KEY = {
  sign: (purpose: string, text: string) => Buffer.from(`${purpose} ${text}`).toString('base64url').slice(-40),
  verify: (purpose: string, text: string, signature: string) => KEY.sign(purpose, text) === signature,
  encrypt: () => '',
  decrypt: () => null,
}

test('the cookie of a known browser is renewed only in the second half of its lifetime, or for another user', () => {
  let time = 1_800_000_000_000
  const browsers = createKnownBrowsers(KEY, createLimits({ KNOWN_BROWSER: 90 * DAY }), () => time)
  let cookie = ''

  /** @returns whether the cookie was set */
  function signIn(username: string): boolean {
    const ctx = koaContext({ headers: { cookie } })
    browsers.note(ctx, SCOPE, 'users', username)
    const [line] = [ctx.res.getHeader('Set-Cookie') ?? []].flat()
    if (line !== undefined) cookie = String(line).split(';')[0] ?? ''
    return line !== undefined
  }

  expect(signIn('anna')).toBe(true)
  time += 44 * DAY
  expect(signIn('anna')).toBe(false)
  expect(signIn('Anna')).toBe(false)
  expect(signIn('bert')).toBe(true)
  expect(signIn('anna')).toBe(true)
  // A different account, even though a directory may not distinguish the two.
  expect(signIn('ánna')).toBe(true)
  expect(signIn('anna')).toBe(true)
  time += 46 * DAY
  expect(signIn('anna')).toBe(true)
  time += 1 * DAY
  expect(signIn('anna')).toBe(false)
  time += 90 * DAY
  expect(signIn('anna')).toBe(true)
})
