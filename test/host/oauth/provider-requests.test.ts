import { expect, test } from 'vitest'
import { createProviderRequests } from '../../../host/oauth/provider-requests.ts'
import type { Outbound } from '../../../host/outbound/outbound.ts'
import { createLimits } from '../../../runtime/limits.ts'

const outbound = {} as Outbound

test.each([
  [
    'https://user:hidden@id.example.org/keys?code=hidden',
    '"https://id.example.org" must not have a username or password',
  ],
  ['https://id.example.org:8443/hidden#hidden', '"https://id.example.org:8443" must not have a fragment'],
  ['ftp://id.example.org/hidden', '"ftp://id.example.org" must be an https URL'],
  ['hidden', 'must be an https URL'],
])('the error for the provider URL %s shows only its origin', async (address, message) => {
  const requests = createProviderRequests(outbound, [], createLimits())
  await expect(requests.fetch(address, { method: 'GET', headers: {} })).rejects.toMatchObject({
    message: `the provider’s URL ${message}`,
  })
})

test.each([999, 600, 101])('a provider that responds with the status %d is named in the error', async (status) => {
  const odd = { request: async () => ({ status, headers: {}, body: new Uint8Array() }) } as Outbound
  const requests = createProviderRequests(odd, [], createLimits())
  const fetched = requests.fetch('https://id.example.org/token', { method: 'POST', headers: {} })
  await expect(fetched).rejects.toMatchObject({
    code: 'oauth_provider',
    message: `id.example.org returned HTTP ${status}`,
  })
})
