import { expect, test } from 'vitest'
import { needType } from '../../../base/http/read-body.ts'
import { koaContext } from '../../support/koa-context.ts'

const FORM = 'application/x-www-form-urlencoded'

const check = (headers: Record<string, string>) => needType(koaContext({ headers }), [FORM, 'application/json'])

test.each([
  [{ 'content-type': FORM, 'content-length': '7' }],
  [{ 'content-type': FORM, 'content-length': '0' }],
  [{ 'content-type': FORM, 'transfer-encoding': 'chunked' }],
  [{ 'content-type': `${FORM}; charset=utf-8`, 'content-length': '7' }],
  [{ 'content-type': 'Application/JSON', 'content-length': '7' }],
])('a body of an allowed type is accepted: %j', (headers) => {
  expect(() => check(headers)).not.toThrow()
})

test.each([
  [{}, 'is missing'],
  [{ 'content-length': '7' }, 'is missing'],
  [{ 'content-type': FORM }, `is ${FORM}`],
  [{ 'content-type': 'text/plain', 'content-length': '7' }, 'is text/plain'],
  [{ 'content-type': `${FORM}x`, 'content-length': '7' }, `is ${FORM}x`],
])('a request without a body of an allowed type is rejected: %j', (headers, given) => {
  expect(() => check(headers)).toThrow(`The Content-Type header must be ${FORM} or application/json, but ${given}.`)
})
