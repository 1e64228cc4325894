import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createClientReader } from '../../../base/http/client.ts'
import { networkOf, plainAddress } from '../../../base/http/network.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:51234', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:cb00:7107', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:51234', '203.0.113.7'],
  ['2001:DB8::00Ab', '2001:db8::ab'],
  ['2001:0db8:0:0:0:0:0:1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
])('address: %s is normalized to %s', (text, address) => {
  expect(plainAddress(text)).toBe(address)
})

test.each([
  '',
  'unknown',
  '_hidden',
  '203.0.113',
  '203.0.113.07',
  '203.0.113.7:',
  '[203.0.113.7',
  '2001:db8:::1',
  'a.example',
])('address: "%s" is not an address', (text) => {
  expect(plainAddress(text)).toBeNull()
})

test('network: different notations of an address belong to the same network; for IPv6, that is its /64', () => {
  const spellings = ['2001:DB8:1:2::3', '2001:db8:1:2:ffff::', '[2001:0DB8:1:2::9]:443', '2001:db8:0001:0002:a:b:c:d']
  expect(new Set(spellings.map(networkOf))).toEqual(new Set(['2001:db8:1:2::/64']))
  expect(networkOf('203.0.113.7:443')).toBe('203.0.113.7')
  expect(networkOf('::1')).toBe('0:0:0:0::/64')
})

/** @returns the client's address for a request from this remote address. Proxies in 10.0.0.0/24 are trusted. */
function addressOf(forwardedFor: string | undefined, remoteAddress = '::ffff:10.0.0.1'): string {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
  const request = { socket: { remoteAddress }, headers } as unknown as IncomingMessage
  return createClientReader(['10.0.0.0/24'])(request).address
}

test.each([
  ['203.0.113.7:50001', '203.0.113.7'],
  ['203.0.113.7:50002, 10.0.0.2:443', '203.0.113.7'],
  ['198.51.100.1, 203.0.113.7:50003', '203.0.113.7'],
  ['[2001:DB8::1]:50004', '2001:db8::1'],
  ['2001:DB8:0::0001', '2001:db8::1'],
  ['unknown', '10.0.0.1'],
  ['203.0.113.7, whatever', '10.0.0.1'],
  ['', '10.0.0.1'],
  [undefined, '10.0.0.1'],
])('X-Forwarded-For "%s" from a trusted proxy: the address is %s', (forwardedFor, address) => {
  expect(addressOf(forwardedFor)).toBe(address)
})

test('X-Forwarded-For from any other sender is ignored', () => {
  expect(addressOf('203.0.113.7', '192.0.2.1')).toBe('192.0.2.1')
})
