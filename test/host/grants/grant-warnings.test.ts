import { expect, test } from 'vitest'
import { askedFor, isPlatformDatabase, warnOfGrants } from '../../../host/grants/grant-warnings.ts'

const EMBEDDED = { server: 'embedded', database: 'platform' } as const
const ASKED = askedFor([
  { databases: { crm: { server: 'alpha', database: null } }, http: ['api.example.org'] },
  { databases: { module: { server: 'gamma', database: null } }, http: [] },
])
const codes = (databases: Parameters<typeof warnOfGrants>[0]['databases'], http: string[] = []) =>
  warnOfGrants({ databases, http }, ASKED, EMBEDDED).map(({ code }) => code)

test('grant warnings: none where the solution or a module asks for all, with an account of its own', () => {
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

test('grant warnings: a database and a host that nothing asks for', () => {
  expect(codes({ other: { server: 'alpha', database: 'a', username: 'u' } }, ['b.org'])).toEqual([
    'not_asked_for',
    'not_asked_for',
  ])
})

test('grant warnings: another kind of server than the manifest asks for', () => {
  expect(codes({ crm: { server: 'beta', database: 'a', username: 'u' } })).toEqual(['server_differs'])
})

test('grant warnings: the shared account is named, and that it reaches the platform’s database', () => {
  const crm = { server: 'alpha', database: 'a' } as const
  const [warning] = warnOfGrants({ databases: { crm }, http: [] }, ASKED, { server: 'alpha', database: 'platform' })
  expect(warning?.code).toBe('shared_account')
  expect(warning?.message).toContain('DB_ALPHA_USERNAME')
  expect(warning?.message).toContain("The platform's own database is on that server")
})

test('platform database: the same name on the same server, in any case', () => {
  const platform = { server: 'gamma', database: 'platform' } as const
  expect(isPlatformDatabase({ server: 'gamma', database: 'PLATFORM' }, platform)).toBe(true)
  expect(isPlatformDatabase({ server: 'alpha', database: 'platform' }, platform)).toBe(false)
  expect(isPlatformDatabase({ server: 'gamma', database: 'platform2' }, platform)).toBe(false)
})
