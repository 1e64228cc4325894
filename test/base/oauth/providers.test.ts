import { expect, test } from 'vitest'
import { PROVIDERS } from '../../../base/oauth/providers.ts'

test.each([
  [undefined, 'https://github.com/login/oauth', 'https://api.github.com/user'],
  ['github.com', 'https://github.com/login/oauth', 'https://api.github.com/user'],
  ['GIT.example.org:8443', 'https://git.example.org:8443/login/oauth', 'https://git.example.org:8443/api/v3/user'],
  ['acme.ghe.com', 'https://acme.ghe.com/login/oauth', 'https://api.acme.ghe.com/user'],
])('GitHub: the endpoints are those for the domain %s', (domain, issuer, userInfoEndpoint) => {
  expect(PROVIDERS.GitHub.places(domain === undefined ? {} : { domain })).toEqual({
    issuer,
    authorizationEndpoint: `${issuer}/authorize`,
    tokenEndpoint: `${issuer}/access_token`,
    userInfoEndpoint,
  })
})

test.each([
  [undefined, 'common', true],
  ['common', 'common', true],
  ['Organizations', 'organizations', true],
  ['consumers', '9188040d-6c67-4c5b-b112-36a304b66dad', false],
  ['contoso.onmicrosoft.com', 'contoso.onmicrosoft.com', false],
  ['8eaef023-2b34-4da1-9baa-8bc8c9d6a490', '8eaef023-2b34-4da1-9baa-8bc8c9d6a490', false],
])('Microsoft: the issuer is the one for the tenant %s', (tenant, segment, issuerHasTenant) => {
  expect(PROVIDERS.Microsoft.places(tenant === undefined ? {} : { tenant })).toEqual({
    issuer: `https://login.microsoftonline.com/${segment}/v2.0`,
    issuerHasTenant,
  })
})
