import { expect, test } from 'vitest'
import { checkAuthorizationResponse, stateOfResponse } from '../../../host/oauth/authorization-response.ts'
import type { OAuthConfiguration } from '../../../host/oauth/configuration.ts'
import { OAuthProblem } from '../../../host/oauth/problems.ts'
import type { Provider } from '../../../host/oauth/provider.ts'
import type { Transaction } from '../../../host/oauth/transactions.ts'

const ISSUER = 'https://id.example.org'
const TENANTS = 'https://login.example.org/{tenantid}/v2.0'

function transaction(provider: Partial<Provider> = {}, configuration: Partial<OAuthConfiguration> = {}): Transaction {
  return {
    content: {
      provider: { title: 'Example', issuer: ISSUER, issuerOrigins: [], issuerHasTenant: false, ...provider },
      configuration: { responseType: 'code', responseMode: 'query', ...configuration },
    },
  } as unknown as Transaction
}

/** @returns the result, or the problem's code */
function check(query: string, provider: Partial<Provider> = {}, configuration: Partial<OAuthConfiguration> = {}) {
  try {
    return checkAuthorizationResponse(new URLSearchParams(query), 'query', transaction(provider, configuration))
  } catch (error) {
    if (error instanceof OAuthProblem) return error.code
    throw error
  }
}

test('authorization response: a code is returned', () => {
  expect(check('code=abc&state=s')).toEqual({ code: 'abc', idToken: null })
})

test.each(['code', 'id_token', 'iss', 'error'])(
  'authorization response: a repeated parameter %s is rejected, even with the same value',
  (name) => {
    const parameters = new URLSearchParams(`state=s&code=c&${name}=x&${name}=x`)
    expect(() => checkAuthorizationResponse(parameters, 'query', transaction())).toThrow(
      `the parameter "${name}" twice`,
    )
  },
)

test('authorization response: a response without a state, or with two, identifies no sign-in', () => {
  expect(stateOfResponse(new URLSearchParams('code=abc'))).toBeNull()
  expect(stateOfResponse(new URLSearchParams('code=abc&state=s&state=s'))).toBeNull()
  expect(stateOfResponse(new URLSearchParams('code=abc&state=s'))).toBe('s')
})

test.each([
  ['no code', 'state=s'],
  ['an empty code', 'state=s&code='],
  ['a code that is too long', `state=s&code=${'c'.repeat(8193)}`],
  ['an ID token that was not requested', 'state=s&code=c&id_token=x'],
  ['another issuer', `state=s&code=c&iss=https%3A%2F%2Fevil.example`],
  ['the issuer with a slash', `state=s&code=c&iss=${encodeURIComponent(`${ISSUER}/`)}`],
  ['an issuer with the same prefix', `state=s&code=c&iss=${encodeURIComponent(`${ISSUER}.evil.example`)}`],
  ['an empty issuer', 'state=s&code=c&iss='],
])('authorization response: %s is rejected', (_name, query) => {
  expect(check(query)).toBe('oauth_token')
})

test('authorization response: iss is required if the provider declares it, even in errors', () => {
  const sends = { sendsIssuer: true }
  expect(check('state=s&code=c', sends)).toBe('oauth_token')
  expect(check('state=s&error=access_denied', sends)).toBe('oauth_token')
  expect(check(`state=s&code=c&iss=${encodeURIComponent(ISSUER)}`, sends)).toEqual({ code: 'c', idToken: null })
})

test('authorization response: a response with an ID token needs no separate iss, since the token contains one', () => {
  const asked = { responseType: 'id_token', responseMode: 'query' } as const
  expect(check('state=s&id_token=a.b.c', { sendsIssuer: true }, asked)).toEqual({ code: null, idToken: 'a.b.c' })
  expect(check('state=s&id_token=a.b.c&code=c', {}, asked)).toBe('oauth_token')
  expect(check('state=s', {}, asked)).toBe('oauth_token')
})

test('authorization response: a tenant’s iss is valid for a multi-tenant provider', () => {
  const many = { issuer: TENANTS, issuerHasTenant: true }
  const of = (tenant: string) => `state=s&code=c&iss=${encodeURIComponent(TENANTS.replace('{tenantid}', tenant))}`
  expect(check(of('72f988bf-86f1-41af-91ab-2d7cd011db47'), many)).toEqual({ code: 'c', idToken: null })
  expect(check(of('../evil'), many)).toBe('oauth_token')
  expect(check(of(''), many)).toBe('oauth_token')
})

test('authorization response: if no issuer is known, iss must have the origin of an endpoint', () => {
  const single = { issuer: null, issuerOrigins: ['https://id.example.org'] }
  expect(check('state=s&code=c&iss=https%3A%2F%2Fid.example.org%2Fa', single)).toEqual({ code: 'c', idToken: null })
  expect(check('state=s&code=c&iss=https%3A%2F%2Fid.example.org.evil', single)).toBe('oauth_token')
  expect(check('state=s&code=c&iss=no%20address', single)).toBe('oauth_token')
})

test('authorization response: a response in a mode other than the requested one is rejected', () => {
  expect(check('state=s&code=c', {}, { responseMode: 'form_post' })).toBe('oauth_token')
})

test.each([
  ['access_denied', 'oauth_denied'],
  ['login_required', 'oauth_denied'],
  ['user_cancelled_authorize', 'oauth_denied'],
  ['server_error', 'oauth_provider'],
  ['temporarily_unavailable', 'oauth_provider'],
  ['invalid_scope', 'oauth_configuration'],
  ['anything else', 'oauth_configuration'],
  ['', 'oauth_configuration'],
])('authorization response: the error "%s" has the code %s, whatever else the response contains', (error, code) => {
  expect(check(`state=s&code=c&error=${encodeURIComponent(error)}`)).toBe(code)
})

test.each([
  ['access_denied', null],
  ['temporarily_unavailable', 'down'],
  ['invalid_scope', 'refused'],
])('authorization response: the page for the error "%s" gets this reason: %s', (error, detail) => {
  const parameters = new URLSearchParams(`state=s&error=${error}`)
  expect(() => checkAuthorizationResponse(parameters, 'query', transaction())).toThrow(
    expect.objectContaining({ detail }),
  )
})

test('authorization response: the provider’s text is quoted, truncated and on one line', () => {
  const text = encodeURIComponent(`<b>\n${'x'.repeat(500)}`)
  const parameters = new URLSearchParams(`state=s&error=invalid_scope&error_description=${text}`)
  expect(() => checkAuthorizationResponse(parameters, 'query', transaction())).toThrow(
    /^Example returned the error "invalid_scope": "<b>\\nx{116}" \(truncated; 504 characters in total\)$/,
  )
})
