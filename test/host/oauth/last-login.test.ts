import { expect, test } from 'vitest'
import { lastLoginOf, shownUser } from '../../../host/oauth/last-login.ts'
import type { Claims } from '../../../host/oauth/provider.ts'

const CLAIMS: Claims = { iss: 'https://id.example', sub: 'a-1', email: 'anna@example.org', roles: ['x'] }

test('last_login: it contains the claims and the time of the sign-in', () => {
  expect(lastLoginOf(CLAIMS, 1000, null)).toEqual({ ...CLAIMS, last_login: 1000, claims: CLAIMS })
})

test('last_login: a provider cannot set uid, permissions, username, tenant or time for the platform', () => {
  const login = { uid: 'admin', permissions: ['Administrators'], username: 'admin', last_login: 9e15 }
  const claims = { ...CLAIMS, ...login, tenant: ['all'] }
  expect(lastLoginOf(claims, 1000, null)).toEqual({ ...CLAIMS, last_login: 1000, claims })
  const earlier = { uid: 'u-7', username: 'anna', permissions: ['Users'], tenant: ['acme', -1], locale: 'de' }
  expect(lastLoginOf(claims, 1000, earlier)).toEqual({ ...CLAIMS, ...earlier, last_login: 1000, claims })
})

test('last_login: locale is the claim at the first sign-in, and the stored sign-in’s locale when the user returns', () => {
  const claims = { ...CLAIMS, locale: 'fr' }
  expect(lastLoginOf(claims, 1000, null)).toMatchObject({ locale: 'fr' })
  const earlier = { uid: 'u-7', username: 'anna', permissions: ['Users'], tenant: null, locale: 'de' }
  expect(lastLoginOf(claims, 1000, earlier)).toMatchObject({ locale: 'de', claims: { locale: 'fr' } })
})

test('last_login: the displayed name is the email, else login name, else name, else sub', () => {
  expect(shownUser(CLAIMS)).toBe('anna@example.org')
  expect(shownUser({ ...CLAIMS, email: 7, preferred_username: 'anna' })).toBe('anna')
  expect(shownUser({ iss: 'i', sub: 'a-1', name: 'Anna' })).toBe('Anna')
  expect(shownUser({ iss: 'i', sub: 'a-1', name: '' })).toBe('a-1')
})
