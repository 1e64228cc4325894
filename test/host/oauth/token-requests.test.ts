import { expect, test } from 'vitest'
import type { ProviderRequests } from '../../../host/oauth/provider-requests.ts'
import { createTokenRequests } from '../../../host/oauth/token-requests.ts'
import { configuration, provider } from '../../support/provider-tokens.ts'

const EXCHANGE = { code: 'c', redirectUri: 'https://crm.example/', verifier: null }
const TOKENS = { access_token: 'a', token_type: 'Bearer', id_token: 'not.a.token', refresh_token: 'r' }

/** Requests tokens from an endpoint with this URL, which sends this response. */
function asked(answer: object, tokenEndpoint = 'https://id.example.org/token') {
  const fetched: string[] = []
  const requests: Pick<ProviderRequests, 'fetch'> = {
    fetch: async (address) => {
      fetched.push(address)
      return new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } })
    },
  }
  const tokenRequests = createTokenRequests(requests as ProviderRequests)
  const registration = { provider: provider({ tokenEndpoint }), configuration: configuration(), secret: 's' }
  return { tokenRequests, registration, fetched }
}

test.each([
  ['https://id.example.org:443/token', 'https://id.example.org/token'],
  ['https://ID.Example.org/token', 'https://id.example.org/token'],
  ['HTTPS://id.example.org/token', 'https://id.example.org/token'],
  ['https://bücher.example/token', 'https://xn--bcher-kva.example/token'],
  ['https://id.example.org', 'https://id.example.org/'],
  ['https://id.example.org/./a/../token', 'https://id.example.org/token'],
])('token endpoint %s: the ID token in its response is read', async (endpoint, address) => {
  const { tokenRequests, registration, fetched } = asked(TOKENS, endpoint)
  const tokens = { accessToken: 'a', idToken: 'not.a.token', refreshToken: 'r' }
  expect(await tokenRequests.exchangeCode(registration, EXCHANGE)).toEqual(tokens)
  expect(await tokenRequests.refresh(registration, 'r')).toEqual(tokens)
  expect(fetched).toEqual([address, address])
})

test.each([
  ['an access token that is invalid in a header', { access_token: 'a\u{1f511}b' }, /access token has characters/],
  ['an access token with a line break', { access_token: 'a\r\nb' }, /access token has characters/],
  ['token_type DPoP', { token_type: 'DPoP' }, /type "dpop", not Bearer/i],
  ['a refresh token that is too long', { refresh_token: 'r'.repeat(20_000) }, /refresh token has 20000/],
])(
  '%s in a token response is a provider error at the sign-in, and ends the remembered login at a refresh',
  async (_, change, message) => {
    const { tokenRequests, registration } = asked({ ...TOKENS, ...change })
    const expected = { name: 'OAuthProblem', message: expect.stringMatching(message) }
    await expect(tokenRequests.exchangeCode(registration, EXCHANGE)).rejects.toMatchObject({
      ...expected,
      code: 'oauth_provider',
    })
    await expect(tokenRequests.refresh(registration, 'r')).rejects.toMatchObject({ ...expected, code: 'oauth_token' })
  },
)
