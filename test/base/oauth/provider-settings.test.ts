import { expect, test } from 'vitest'
import { type ProviderForm, providerForms } from '../../../base/oauth/provider-settings.ts'

const formOf = (api: string) => providerForms().find((form) => form.api === api) as ProviderForm
const needed = ({ settings }: ProviderForm) =>
  settings.filter(({ required }) => required !== 'no').map(({ name, required }) => [name, required])

test('provider settings: every documented provider has a form, which does not ask for the provider again', () => {
  expect(providerForms().map(({ api }) => api)).toEqual([
    'Google',
    'Microsoft',
    'Apple',
    'Okta',
    'LinkedIn',
    'GitHub',
    'Custom',
  ])
  expect(providerForms().flatMap(({ settings }) => settings.filter(({ name }) => name === 'api'))).toEqual([])
})

test('provider settings: Custom requires the settings that the guide’s table requires, unless an issuer is set', () => {
  expect(needed(formOf('Custom'))).toEqual([
    ['clientId', 'yes'],
    ['authorizationBaseUrl', 'issuer'],
    ['accessTokenEndpoint', 'issuer'],
    ['jwks_uri', 'issuer'],
  ])
})

test('provider settings: a known provider requires the client ID and secret', () => {
  expect(needed(formOf('Google'))).toEqual([
    ['clientId', 'yes'],
    ['apiSecret', 'yes'],
  ])
  expect(formOf('Google').issuer).toBe('https://accounts.google.com')
})

test.each([
  ['Microsoft', ['tenant']],
  ['Okta', ['domain']],
  ['Apple', ['teamId', 'keyId']],
  ['GitHub', ['domain']],
  ['Google', []],
])('provider settings: %s has only its own settings', (api, own) => {
  const all = ['tenant', 'domain', 'teamId', 'keyId']
  expect(formOf(api).settings.flatMap(({ name }) => (all.includes(name) ? [name] : []))).toEqual(own)
})

test('provider settings: defaults and choices are those in the table', () => {
  const of = (api: string, wanted: string) => formOf(api).settings.find(({ name }) => name === wanted)
  expect(of('LinkedIn', 'code_challenge_method')).toEqual({
    name: 'code_challenge_method',
    title: 'PKCE method',
    description: 'Default: S256. LinkedIn does not support PKCE.',
    required: 'no',
    default: null,
    values: ['S256', 'plain'],
  })
  expect(of('GitHub', 'defaultScope')).toMatchObject({ default: 'read:user user:email', values: null })
  expect(of('Apple', 'response_type')).toMatchObject({ default: 'code', values: ['code'] })
})
