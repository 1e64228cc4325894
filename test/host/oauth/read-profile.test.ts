import { expect, test } from 'vitest'
import { PROFILES } from '../../../host/oauth/read-profile.ts'

const PLACES = { issuer: 'https://github.com/login/oauth', userInfoEndpoint: 'https://api.github.com/user' }
const USER = {
  id: 583231,
  login: 'octocat',
  name: 'The Octocat',
  avatar_url: 'https://a.example/1',
  email: 'public@x.org',
}
const EMAILS = [
  { email: 'old@example.org', primary: false, verified: true },
  { email: 'octocat@example.org', primary: true, verified: true },
]

function profile(user: unknown, emails: unknown) {
  const asked: string[] = []
  const get = async (address: string) => {
    asked.push(address)
    return address.endsWith('/emails') ? emails : user
  }
  return { asked, claims: PROFILES.GitHub?.(PLACES, get) }
}

test('GitHub: the account is returned as claims, with the primary address if it is verified', async () => {
  const { asked, claims } = profile(USER, EMAILS)
  expect({ ...(await claims) }).toEqual({
    iss: 'https://github.com/login/oauth',
    sub: '583231',
    preferred_username: 'octocat',
    name: 'The Octocat',
    picture: 'https://a.example/1',
    email: 'octocat@example.org',
    email_verified: true,
  })
  expect(Object.getPrototypeOf(await claims)).toBeNull()
  expect(asked).toEqual(['https://api.github.com/user', 'https://api.github.com/user/emails'])
})

test.each([
  ['there is none', []],
  ['the primary one is not verified', [{ email: 'a@x.org', primary: true, verified: false }, EMAILS[0]]],
  ['verified is a string', [{ email: 'a@x.org', primary: true, verified: 'true' }]],
  ['it is not a string', [{ email: 5, primary: true, verified: true }]],
  ['it has a line break', [{ email: 'a@x.org\r\nBcc: b@x.org', primary: true, verified: true }]],
  ['it has 10,000 characters', [{ email: 'a'.repeat(10_000), primary: true, verified: true }]],
  ['the list has other values', [null, 5, 'a@x.org', []]],
])('GitHub: no email address is used if %s', async (_what, emails) => {
  const claims = await profile(USER, emails).claims
  expect(claims).not.toHaveProperty('email')
  expect(claims).not.toHaveProperty('email_verified')
})

test.each([
  ['a list', []],
  ['an empty object', {}],
  ['an id as a string', { ...USER, id: '583231' }],
  ['an id of 0', { ...USER, id: 0 }],
  ['an id with a fraction', { ...USER, id: 1.5 }],
  ['an id above the largest safe integer', { ...USER, id: 2 ** 53 }],
])('GitHub: a user response with %s is rejected', async (_what, user) => {
  await expect(profile(user, EMAILS).claims).rejects.toMatchObject({ code: 'oauth_provider' })
})

test('GitHub: email addresses that are not a list are rejected', async () => {
  await expect(profile(USER, { message: 'Not Found' }).claims).rejects.toMatchObject({ code: 'oauth_provider' })
})

test('GitHub: values that no page could show are omitted', async () => {
  const claims = await profile({ ...USER, name: 'a\u0000b', avatar_url: null, login: '\ud800' }, EMAILS).claims
  expect(Object.keys(claims ?? {})).toEqual(['iss', 'sub', 'email', 'email_verified'])
})
