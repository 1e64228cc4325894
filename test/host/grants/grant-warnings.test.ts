import { expect, test } from 'vitest'
import { refusalOf, requestsOf, warnOfGrants } from '../../../host/grants/grant-warnings.ts'

const EMBEDDED = { server: 'embedded', database: 'platform', username: '' } as const
const ASKED = requestsOf([
  { databases: { crm: { server: 'alpha', database: null } }, http: ['api.example.org'] },
  { databases: { module: { server: 'gamma', database: null } }, http: [] },
])
const codes = (databases: Parameters<typeof warnOfGrants>[0]['databases'], http: string[] = []) =>
  warnOfGrants({ databases, http }, ASKED, EMBEDDED).map(({ code }) => code)

test('grant warnings: there are none if the solution or a module requests every grant and has its own account', () => {
  expect(
    codes(
      {
        crm: { server: 'alpha', database: 'a', username: 'crm' },
        module: { server: 'gamma', database: 'b', username: 'module' },
      },
      ['api.example.org'],
    ),
  ).toEqual([])
})

test('grant warnings: a database and a host that neither the solution nor a module requests are reported', () => {
  expect(codes({ other: { server: 'alpha', database: 'a', username: 'u' } }, ['b.org'])).toEqual([
    'not_asked_for',
    'not_asked_for',
  ])
})

test('grant warnings: a different kind of server than the manifest requests is reported', () => {
  expect(codes({ crm: { server: 'beta', database: 'a', username: 'u' } })).toEqual(['server_differs'])
})

test('grant warnings: an account that solutions share is reported', () => {
  const crm = { server: 'alpha', database: 'a' } as const
  const [warning] = warnOfGrants({ databases: { crm }, http: [] }, ASKED, EMBEDDED)
  expect(warning?.code).toBe('shared_account')
  expect(warning?.message).toContain('DB_ALPHA_USERNAME')
  expect(warning?.message).toContain('Create a separate account for this solution.')
})

test('grant warnings: a stored grant that would be rejected today is reported', () => {
  const crm = { server: 'alpha', database: 'a' } as const
  const platform = { server: 'alpha', database: 'platform', username: 'solhost' } as const
  const [warning, ...others] = warnOfGrants({ databases: { crm }, http: [] }, ASKED, platform)
  expect(warning?.code).toBe('refused')
  expect(warning?.message).toContain(
    'The grant for the database "crm" has no effect. This grant would use the platform’s own account on the server alpha (DB_ALPHA_USERNAME)',
  )
  expect(others).toEqual([])
})

const PLATFORM = { server: 'gamma', database: 'platform', username: 'solhost' } as const

test.each([
  ['the platform’s database', { server: 'gamma', database: 'platform', username: 'crm' }, 'own database'],
  ['the platform’s database in uppercase', { server: 'gamma', database: 'PLATFORM', username: 'crm' }, 'own database'],
  ['no account on the platform’s server', { server: 'gamma', database: 'crm' }, 'DB_GAMMA_USERNAME'],
  ['the platform’s account', { server: 'gamma', database: 'crm', username: 'solhost' }, 'DB_GAMMA_USERNAME'],
  [
    'the platform’s account in uppercase',
    { server: 'gamma', database: 'crm', username: 'SOLHOST' },
    'DB_GAMMA_USERNAME',
  ],
] as const)('grants: %s is rejected', (_case, grant, reason) => {
  expect(refusalOf(grant, PLATFORM)).toContain(reason)
})

test.each([
  ['a separate account', { server: 'gamma', database: 'platform2', username: 'crm' }],
  ['another server, without an account', { server: 'alpha', database: 'platform' }],
] as const)('grants: %s is accepted', (_case, grant) => {
  expect(refusalOf(grant, PLATFORM)).toBeNull()
})
