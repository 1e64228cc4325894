import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Koa, { type Context } from 'koa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFormTokens } from '../../../base/accounts/form-token.ts'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'

let home: string
let db: HostDatabase
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-form-token-'))
  db = await openHostDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const SCOPE = { realm: 'crm', secure: false, ownHost: true }

/** A request with this cookie header. `set` returns the cookies that the response sets. */
function requestWith(cookie: string): { readonly ctx: Context; readonly set: () => readonly string[] } {
  const headers = new Map<string, string[]>()
  const request = { headers: { cookie }, method: 'GET', url: '/', socket: {} } as unknown as IncomingMessage
  const response = {
    getHeader: (name: string) => headers.get(name.toLowerCase()),
    setHeader: (name: string, value: string[]) => void headers.set(name.toLowerCase(), value),
  } as unknown as ServerResponse
  return { ctx: new Koa().createContext(request, response), set: () => headers.get('set-cookie') ?? [] }
}

test('form token: a browser keeps its id as long as it has its cookie, and the cookie can’t be derived from the id', () => {
  const formTokens = createFormTokens(key)
  const first = requestWith('login-crm=abc; session-crm=x')
  const name = formTokens.browserOf(first.ctx, SCOPE)
  expect(name).toMatch(/^[0-9a-f]{64}$/)
  expect(formTokens.browserOf(requestWith('x=y; login-crm=abc').ctx, SCOPE)).toBe(name)
  expect(formTokens.browserOf(requestWith('login-crm=abd').ctx, SCOPE)).not.toBe(name)
})

test('form token: identifying a browser and checking its token set no cookie', () => {
  const formTokens = createFormTokens(key)
  for (const cookie of ['', 'login-other=abc', 'login-crm=', 'login-crm=a b']) {
    const { ctx, set } = requestWith(cookie)
    expect([formTokens.browserOf(ctx, SCOPE), formTokens.check(ctx, SCOPE, 'x'), set()]).toEqual([null, false, []])
  }
  const { ctx, set } = requestWith('login-crm=abc')
  const token = formTokens.issue(ctx, SCOPE)
  expect([formTokens.check(ctx, SCOPE, token), formTokens.browserOf(ctx, SCOPE) !== null, set()]).toEqual([
    true,
    true,
    [],
  ])
})

test.each(['', 'login-crm=before'])(
  'form token: a response has one token, which is bound to the cookie that it sets; browser cookie: "%s"',
  (cookie) => {
    const formTokens = createFormTokens(key)
    const { ctx, set } = requestWith(cookie)
    formTokens.renew(ctx, SCOPE)
    const tokens = [formTokens.issue(ctx, SCOPE), formTokens.issue(ctx, SCOPE)]
    expect(new Set(tokens).size).toBe(1)
    expect(set()).toHaveLength(1)
    const next = requestWith(String(set()[0]).split(';')[0] ?? '')
    expect(formTokens.check(next.ctx, SCOPE, tokens[0])).toBe(true)
  },
)

test('form token: a browser without a cookie gets one, however many forms its page has', () => {
  const formTokens = createFormTokens(key)
  const { ctx, set } = requestWith('')
  const tokens = [formTokens.issue(ctx, SCOPE), formTokens.issue(ctx, SCOPE)]
  const next = requestWith(String(set()[0]).split(';')[0] ?? '')
  expect(tokens.map((token) => formTokens.check(next.ctx, SCOPE, token))).toEqual([true, true])
})
