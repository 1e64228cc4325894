import { expect, test } from 'vitest'
import { oauthForm } from '../../../base/oauth/page-fields.ts'

const fieldsOf = (...settings: Parameters<typeof oauthForm>) => {
  const { first, advanced } = oauthForm(...settings)
  return Object.fromEntries([...first, ...advanced].map((field) => [field.name, field]))
}

test('oauth fields: each field lists its providers, which of them require it, and its defaults', () => {
  const fields = fieldsOf('crm', null, null)
  expect(fields.clientId).toEqual({
    name: 'clientId',
    value: '',
    ofManifest: '',
    providers: ['Google', 'Microsoft', 'Apple', 'Okta', 'LinkedIn', 'GitHub', 'Custom'],
    requiredBy: ['Google', 'Microsoft', 'Apple', 'Okta', 'LinkedIn', 'GitHub', 'Custom'],
    defaults: {},
    values: null,
  })
  expect(fields.jwks_uri?.providers).toEqual(['Custom'])
  expect(fields.defaultScope?.defaults.Apple).toBe('openid email name')
  expect(fields.code_challenge_method?.values).toEqual(['S256', 'plain'])
})

test('oauth fields: a setting that has a value is shown for every provider, so it can be removed', () => {
  const { issuer } = fieldsOf('crm', null, { api: 'Google', issuer: 'https://accounts.google.com' })
  expect([issuer?.value, issuer?.providers]).toEqual([
    'https://accounts.google.com',
    ['Google', 'Microsoft', 'Apple', 'Okta', 'LinkedIn', 'GitHub', 'Custom'],
  ])
})

test('oauth fields: a secret is shown by name, never by value', () => {
  const written = oauthForm('crm', { api: 'Google', clientId: 'x', apiSecret: 'in clear' }, null)
  expect(written.secret).toMatchObject({ name: '', usual: 'CRM_SECRET', isInManifest: true })
  expect(JSON.stringify(written)).not.toContain('in clear')
  expect(oauthForm('crm', { apiSecret: '%%IDP%%' }, { apiSecret: '%%OWN%%' }).secret).toMatchObject({
    name: 'OWN',
    usual: 'IDP',
  })
})

test.each([
  ['crm', 'CRM_SECRET'],
  ['my-crm', 'MY_CRM_SECRET'],
  ['4you', 'S_4YOU_SECRET'],
  ['a'.repeat(63), `${'A'.repeat(57)}_SECRET`],
])('oauth fields: the suggested name for the secret of %s is %s', (solution, name) => {
  expect(oauthForm(solution, null, null).secret.usual).toBe(name)
})

test('oauth fields: each parameter for the provider is on its own line', () => {
  const settings = { api: 'Google', prompt: 'login', max_age: 60, hd: 'example.org' } as const
  expect(oauthForm('crm', null, settings).parameters).toBe('prompt=login\nmax_age=60\nhd=example.org')
})
