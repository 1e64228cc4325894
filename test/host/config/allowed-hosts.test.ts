import { expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'

test('HTTP_ALLOWED_HOSTS and OAUTH_ALLOWED_HOSTS are normalized', () => {
  const settings = readSettings({
    HTTP_ALLOWED_HOSTS: 'LDAP.corp.example:8443, [::1]:80',
    OAUTH_ALLOWED_HOSTS: '127.1:81',
  })
  expect(settings.httpAllowedHosts).toEqual(['ldap.corp.example:8443', '[::1]:80'])
  expect(settings.oauthAllowedHosts).toEqual(['127.0.0.1:81'])
  expect(readSettings({}).httpAllowedHosts).toEqual([])
})

test.each(['ldap.corp.example', '10.0.0.0/8:80', 'https://ldap.corp.example:443', '*:80', 'a:0'])(
  'HTTP_ALLOWED_HOSTS: the entry %s prevents startup, and a message describes the format',
  (entry) => {
    expect(() => readSettings({ HTTP_ALLOWED_HOSTS: `ok.example:1,${entry}` })).toThrow(
      'HTTP_ALLOWED_HOSTS must be host:port entries separated by commas',
    )
  },
)
