import { expect, test } from 'vitest'
import { checkHeaders, checkMethod, readTarget } from '../../../host/outbound/check-request.ts'

const INVALID = expect.objectContaining({ code: 'ERR_OUTBOUND_INVALID' })

/** For each URL, the host and port that it refers to. */
const PLACES: Record<string, string> = {
  'http://api.example.org': 'api.example.org:80',
  'https://api.example.org/a?b#c': 'api.example.org:443',
  'HTTPS://API.Example.ORG:443/': 'api.example.org:443',
  'https://api.example.org:8443': 'api.example.org:8443',
  'http://api.example.org./': 'api.example.org:80',
  'http:///api.example.org': 'api.example.org:80',
  'http://bücher.example/': 'xn--bcher-kva.example:80',
  'http://ＥＸＡＭＰＬＥ.org/': 'example.org:80',
  'http://%65xample.org/': 'example.org:80',
  'http://2130706433/': '127.0.0.1:80',
  'http://0x7f000001/': '127.0.0.1:80',
  'http://0x7f.0.0.1/': '127.0.0.1:80',
  'http://017700000001/': '127.0.0.1:80',
  'http://0177.0.0.1/': '127.0.0.1:80',
  'http://127.1/': '127.0.0.1:80',
  'http://127.0.1/': '127.0.0.1:80',
  'http://127.0.0.1./': '127.0.0.1:80',
  'http://①②⑦.0.0.1/': '127.0.0.1:80',
  'http://0/': '0.0.0.0:80',
  'http://[::1]/': '[::1]:80',
  'http://[0:0:0:0:0:0:0:1]:81/': '[::1]:81',
  'http://[::ffff:127.0.0.1]/': '[::ffff:7f00:1]:80',
  'http://[::127.0.0.1]/': '[::7f00:1]:80',
  'http://[64:ff9b::169.254.169.254]/': '[64:ff9b::a9fe:a9fe]:80',
}

test.each(Object.entries(PLACES))('the URL %s refers to %s', (url, place) => {
  expect(readTarget(url).place).toBe(place)
})

test.each([
  '',
  'api.example.org',
  '//api.example.org/',
  '/path',
  'ftp://api.example.org/',
  'file:///etc/passwd',
  'data:text/plain,x',
  'javascript:1',
  'unix:/run/docker.sock',
  'http:api.example.org',
  'http://',
  'http://user@api.example.org/',
  'http://user:secret@api.example.org/',
  'http://api.example.org\\@evil.example/',
  'http://api.example.org/\r\nHost: evil.example',
  'http://api.example.org/ x',
  'http://api.example.org:0/',
  'http://api.example.org:65536/',
  'http://a..example.org/',
  'http://.example.org/',
  'http://1.2.3.4.5/',
  'http://256.256.256.256/',
  'http://[fe80::1%25eth0]/',
  'http://[::1/',
  'http://exa$mple.org/',
  `http://${'a'.repeat(64)}.example/`,
  `http://api.example.org/${'a'.repeat(8192)}`,
  'http://api.example.org/\ud800',
])('an invalid URL is rejected: %s', (url) => {
  expect(() => readTarget(url)).toThrow(INVALID)
})

test('errors about a URL don’t quote it, since it may contain keys', () => {
  const messageOf = (url: string) => {
    try {
      readTarget(url)
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  expect(messageOf('http://user:s3cret@api.example.org/?key=s3cret')).toMatch(/^the URL must not contain a username/)
  expect(messageOf('ftp://api.example.org/?key=s3cret')).not.toContain('s3cret')
})

test('path and query are sent as the URL parser returns them, without the fragment', () => {
  expect(readTarget('https://api.example.org/ä/../b?q="1"#token').path).toBe('/b?q=%221%22')
})

test('header names become lowercase', () => {
  expect([...checkHeaders({ Accept: 'text/plain', 'X-Key': 'ä' })]).toEqual([
    ['accept', 'text/plain'],
    ['x-key', 'ä'],
  ])
})

test.each([
  [{ 'x-a': 'b\r\nx-evil: 1' }],
  [{ 'x-a': 'b\nx-evil: 1' }],
  [{ 'x-a': 'b\u010dx' }],
  [{ 'x-a': 'b\0' }],
  [{ 'x-a\r\nx-evil': '1' }],
  [{ 'x a': '1' }],
  [{ '': '1' }],
  [{ 'x:a': '1' }],
  [{ 'X-A': '1', 'x-a': '2' }],
  [{ Host: 'evil.example' }],
  [{ 'content-length': '3' }],
  [{ 'Transfer-Encoding': 'chunked' }],
  [{ connection: 'upgrade' }],
  [{ upgrade: 'h2c' }],
  [{ te: 'trailers' }],
  [{ trailer: 'x' }],
  [{ expect: '100-continue' }],
  [{ 'accept-encoding': 'gzip' }],
  [{ 'keep-alive': '5' }],
  [{ 'proxy-authorization': 'Basic x' }],
  [{ 'Proxy-Connection': 'keep-alive' }],
  [{ 'x-long': 'a'.repeat(16 * 1024) }],
  [Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`x-${index}`, '1']))],
])('the headers %j are not sent', (headers) => {
  expect(() => checkHeaders(headers as Record<string, string>)).toThrow(INVALID)
})

test('errors about a header don’t quote its value', () => {
  expect(() => checkHeaders({ authorization: 'Bearer s3cret\n' })).toThrow(/^((?!s3cret).)*$/s)
})

test.each(['CONNECT', 'TRACE', 'get', 'GET / HTTP/1.1\r\n', ''])('the method %j is not sent', (method) => {
  expect(() => checkMethod(method, false)).toThrow(INVALID)
})

test('a GET or HEAD request can’t have a body', () => {
  expect(() => checkMethod('GET', true)).toThrow(INVALID)
  expect(() => checkMethod('HEAD', true)).toThrow(INVALID)
  expect(() => checkMethod('DELETE', true)).not.toThrow()
})
