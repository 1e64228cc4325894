import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PROVIDERS } from '../../../base/oauth/providers.ts'
import { SECRET_HOSTS } from '../../../base/oauth/secret-hosts.ts'
import { OAUTH_SETTING_NAMES } from '../../../runtime/bundle/manifest-schema.ts'

const guide = readFileSync(new URL('../../../docs/oauth.md', import.meta.url), 'utf8')

test('secret hosts: every provider has rules, which use existing settings', () => {
  expect(Object.keys(SECRET_HOSTS)).toEqual(Object.keys(PROVIDERS))
  const settings = Object.values(SECRET_HOSTS).flatMap((rules) =>
    rules.flatMap((rule) => ('setting' in rule ? [rule.setting] : [])),
  )
  expect(settings.filter((name) => !OAUTH_SETTING_NAMES.has(name))).toEqual([])
})

test.each(Object.entries(SECRET_HOSTS))('secret hosts: the guide contains the host for %s', (api, rules) => {
  const row = guide.split('\n').find((line) => line.startsWith(`| \`${api}\``)) ?? ''
  for (const rule of rules) if ('host' in rule) expect(row).toContain(`\`${rule.host}\``)
  expect(row).not.toBe('')
})

test('secret hosts: if the endpoints are known, the token endpoint is on that host', () => {
  const places = PROVIDERS.GitHub.places({})
  expect(new URL(places?.tokenEndpoint ?? '').host).toBe('github.com')
})
