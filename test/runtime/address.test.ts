import { expect, test } from 'vitest'
import { isAllowedAddress, startsWithHost } from '../../runtime/address.ts'

const LONGEST = 'a'.repeat(260)

test.each([
  'http://example.org',
  'HTTPS://example.org:8443/path?query#fragment',
  'https://bücher.example/',
  'http:///example.org/',
  `https://${LONGEST}`,
  `https://${LONGEST}/${LONGEST}`,
  `https://${LONGEST}?${LONGEST}`,
])('startsWithHost is true for %s', (address) => {
  expect(startsWithHost(address)).toBe(true)
})

test.each([
  '',
  'example.org',
  'http:example.org',
  'http://',
  'http:///',
  'ftp://example.org/',
  ' http://example.org/',
  `https://${LONGEST}a`,
  `https:///${LONGEST}a/`,
  `https://\\${LONGEST}a/`,
])('startsWithHost is false for %s', (address) => {
  expect(startsWithHost(address)).toBe(false)
})

test.each([
  ['https://example.org/a?b#c', true],
  ['mailto:anna@example.org', true],
  ['/', true],
  [`/${'a'.repeat(2000)}`, true],
  ['//example.org/', false],
  ['//same-server.invalid/', false],
  ['relative', false],
  ['ftp://example.org/', false],
  ['javascript:alert(1)', false],
  ['https://anna@example.org/', false],
  ['/a\\b', false],
  // Parsing a long host name takes quadratic time.
  [`https://${'a'.repeat(300)}/`, false],
  [`ftp://${'a'.repeat(300)}/`, false],
])('isAllowedAddress: %s → %s', (address, isAllowed) => {
  expect(isAllowedAddress(address)).toBe(isAllowed)
})
