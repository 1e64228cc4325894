import { afterEach, expect, test, vi } from 'vitest'
import { type CookieKind, type CookieScope, cookieKinds, readCookies, setCookie } from '../../../base/http/cookies.ts'
import { koaContext } from '../../support/koa-context.ts'

const HOUR = 3_600_000
const SHARED = { realm: 'crm', secure: false, ownHost: false }
const OWN = { realm: 'crm', secure: true, ownHost: true }

afterEach(() => void vi.useRealTimers())

/** @returns the headers that the cookie library creates for the same cookies */
function byLibrary(cookies: readonly [CookieKind, CookieScope, string | null, number?][]): unknown {
  const ctx = koaContext()
  for (const [kind, { realm, secure, ownHost }, value, maxAge] of cookies) {
    ctx.cookies.secure = secure
    const name = `${secure ? (ownHost ? '__Host-' : '__Secure-') : ''}${kind}-${realm}`
    const path = ownHost ? '/' : `/solution/${realm}/`
    const options = { httpOnly: true, sameSite: 'lax', secure, path, overwrite: true } as const
    ctx.cookies.set(name, value, { ...options, ...(maxAge === undefined ? {} : { maxAge }) })
  }
  return ctx.res.getHeader('Set-Cookie')
}

test.each([
  ['a session', [['session', SHARED, 'value_1-x']]],
  [
    'several',
    [
      ['session', OWN, 'a'],
      ['login', OWN, 'b'],
      ['known', OWN, 'c', 90 * 24 * HOUR],
    ],
  ],
  [
    'one that is set twice',
    [
      ['login', SHARED, 'a'],
      ['session', SHARED, 'b'],
      ['login', SHARED, 'c'],
    ],
  ],
  [
    'one that is cleared',
    [
      ['remember', SHARED, 'a', HOUR],
      ['remember', SHARED, null],
    ],
  ],
  ['with TLS on a shared host', [['remember', { ...OWN, ownHost: false }, 'a', HOUR]]],
] as [string, [CookieKind, CookieScope, string | null, number?][]][])(
  'the host sets cookies with the same attributes as the library: %s',
  (_name, cookies) => {
    vi.useFakeTimers({ now: 1_800_000_000_000 })
    const ctx = koaContext()
    for (const cookie of cookies) setCookie(ctx, ...cookie)
    expect(ctx.res.getHeader('Set-Cookie')).toEqual(byLibrary(cookies))
  },
)

test.each(['a; path=/', 'a\r\nX: y', 'a b', 'é'])('a cookie with the value %j is not set', (value) => {
  const ctx = koaContext()
  expect(() => setCookie(ctx, 'session', SHARED, value)).toThrow(TypeError)
  expect(ctx.res.getHeader('Set-Cookie')).toBeUndefined()
})

test.each([
  ['login-crm=1', ['1']],
  ['a=b; login-crm=1; login-crm=2', ['1', '2']],
  ['xlogin-crm=1; login-crm-b=2; a=login-crm; a=login-crm=3; login-crm', []],
  ['login-crm=; login-crm=a b; login-crm=ü; login-crm=4', ['4']],
  ['', []],
])('only cookies with exactly the name and a valid value are read: "%s"', (cookie, values) => {
  const ctx = koaContext({ headers: cookie === '' ? {} : { cookie } })
  expect(readCookies(ctx, 'login', SHARED)).toEqual(values)
})

test('cookie kinds: names that this service does not create are ignored, so that each kind can be cleared', () => {
  const names = ['oauth-a', 'oauth-a.0', 'oauth-!', 'oauth-', 'oauth-b_C-9', 'session']
  const ctx = koaContext({ headers: { cookie: names.map((name) => `${name}-crm=x`).join('; ') } })
  const kinds = cookieKinds(ctx, 'oauth-', SHARED)
  expect(kinds).toEqual(['oauth-a', 'oauth-b_C-9'])
  for (const kind of kinds) setCookie(ctx, kind, SHARED, null)
})
