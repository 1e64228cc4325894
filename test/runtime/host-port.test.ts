import { expect, test } from 'vitest'
import { namesPlaceOf, readHostPort } from '../../runtime/host-port.ts'

test.each([
  ['api.example.org', 'api.example.org', null],
  ['API.Example.Org.:8443', 'api.example.org', 8443],
  ['bücher.example', 'xn--bcher-kva.example', null],
  ['0x7f.1:80', '127.0.0.1', 80],
  ['[2001:DB8:0:0::1]:443', '[2001:db8::1]', 443],
  ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', null],
])('a host is normalized as by a URL parser: %s', (text, host, port) => {
  expect(readHostPort(text)).toEqual({ host, port })
})

test.each([
  '',
  ':80',
  'example.org:',
  'example.org:0',
  'example.org:080',
  'example.org:65536',
  'example.org:80:80',
  'http://example.org',
  'example.org/path',
  'user@example.org',
  'example.org?x',
  'exam ple.org',
  'example%2eorg',
  '*',
  '*.example.org',
  '2001:db8::1',
  '[::1',
  '1.2.3.4.5',
])('the text is not a host with an optional port: %s', (text) => {
  expect(readHostPort(text)).toBeNull()
})

test.each([
  ['https://api.example.org/', 'api.example.org', true],
  ['http://api.example.org/', 'api.example.org', true],
  ['https://api.example.org:8443/', 'api.example.org', false],
  ['https://api.example.org:8443/', 'api.example.org:8443', true],
  ['https://api.example.org/', 'api.example.org:443', true],
  ['http://api.example.org/', 'api.example.org:443', false],
  ['https://api.example.org./', 'API.example.org', true],
  ['https://sub.api.example.org/', 'api.example.org', false],
  ['https://notapi.example.org/', 'api.example.org', false],
  ['http://2130706433/', '127.0.0.1', true],
  ['http://[0:0::1]/', '[::1]:80', true],
  ['https://api.example.org/', 'no host at all', false],
])('%s matches the entry %s: %s', (url, entry, expected) => {
  expect(namesPlaceOf(new URL(url), [entry])).toBe(expected)
})
