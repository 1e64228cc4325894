import type { Context } from 'koa'
import { expect, test } from 'vitest'
import { requireOneHost } from '../../../base/http/host-header.ts'

const asked = (...rawHeaders: string[]) => requireOneHost({ req: { rawHeaders } } as Context)

test('a request with one Host header or none is accepted', () => {
  expect(() => asked('Host', 'a.example', 'Accept', 'host', 'X-Host', 'b.example')).not.toThrow()
  expect(() => asked('Accept', '*/*')).not.toThrow()
})

test.each([
  [['Host', 'a.example', 'Host', 'b.example']],
  [['host', 'a.example', 'Accept', '*/*', 'HOST', 'a.example']],
])('a request with two Host headers is rejected: %j', (headers) => {
  expect(() => asked(...headers)).toThrow('The request has more than one Host header. Send only one.')
})
