import { expect, test } from 'vitest'
import { settingsInForce } from '../../../host/oauth/settings-in-force.ts'

const GOOGLE = { api: 'Google', clientId: 'author', apiSecret: '%%IDP%%' } as const
const fine = () => null
const rows = (...given: Parameters<typeof settingsInForce>) =>
  settingsInForce(...given).map(({ name, value, source }) => `${source} ${name} ${value}`)

test('effective settings: the operator’s override the manifest’s, and the provider table has the defaults', () => {
  expect(rows(GOOGLE, { clientId: 'operator', max_age: 60 }, fine)).toEqual([
    'manifest api Google',
    'operator clientId operator',
    'manifest apiSecret %%IDP%%',
    'operator max_age 60',
    'default issuer https://accounts.google.com',
    'default defaultScope openid email profile',
    'default code_challenge_method S256',
    'default response_type code',
    'default response_mode query',
  ])
})

test('effective settings: if the operator sets another provider, none of the manifest’s settings apply', () => {
  expect(rows(GOOGLE, { api: 'Microsoft', clientId: 'x', tenant: 'organizations' }, fine).slice(0, 4)).toEqual([
    'operator api Microsoft',
    'operator clientId x',
    'operator tenant organizations',
    'default issuer https://login.microsoftonline.com/organizations/v2.0',
  ])
})

test('effective settings: a literal secret in the manifest is never shown', () => {
  const [shown] = settingsInForce({ ...GOOGLE, apiSecret: 'clear' }, null, fine).filter(({ value }) => value === null)
  expect(shown).toEqual({ name: 'apiSecret', value: null, source: 'manifest' })
})

test('effective settings: a parameter named like an inherited property is shown as the manifest’s', () => {
  const settings = Object.assign(Object.create(null), GOOGLE, { constructor: 'x' })
  expect(rows(settings, { prompt: 'login' }, fine)).toContain('manifest constructor x')
})

test('effective settings: if settings are invalid, they are shown as written, without defaults', () => {
  expect(rows(null, { api: 'Okta', clientId: 'x' }, fine)).toEqual(['operator api Okta', 'operator clientId x'])
  expect(rows(null, null, fine)).toEqual([])
})
