import { expect, test } from 'vitest'
import { readSettings } from '../../host/config/settings.ts'
import type { Host } from '../../host/main.ts'
import { startMessage } from '../../host/start-message.ts'

function message(properties: Record<string, string>, host: Partial<Host> = {}): Promise<string> {
  const url = 'http://127.0.0.1:8080'
  const addresses = { url, publicUrl: url, adminUrl: 'http://127.0.0.1:8081', redirectPort: null, metricsUrl: null }
  const facts = { generatedPassword: null, sharedOrigin: true, solutionNames: () => Promise.resolve([]) }
  return startMessage({ ...addresses, ...facts, ...host } as unknown as Host, readSettings(properties))
}

test('start message: a suggested origin uses https if the host serves TLS', async () => {
  expect(await message({})).toContain('(such as http://{name}.localhost)')
  const url = 'https://apps.example.org'
  expect(await message({}, { url, publicUrl: url })).toContain('(such as https://{name}.apps.example.org)')
})

test('start message: an unused control center token is reported', async () => {
  const text = 'REMOTE_ENVIRONMENT_TOKEN is ignored'
  const token = { REMOTE_ENVIRONMENT_TOKEN: 't', CLOUD_URL: 'https://cloud.example.org' }
  expect(await message(token)).toContain(text)
  expect(await message({ ...token, ENVIRONMENT: 'onprem' })).not.toContain(text)
  expect(await message({})).not.toContain(text)
})

test('start message: the ports for metrics and http redirects are listed if they are open', async () => {
  const text = await message({}, { metricsUrl: 'http://127.0.0.1:9464/metrics', redirectPort: 8082 })
  expect(text).toContain('Metrics:        http://127.0.0.1:9464/metrics\nPort 8082 redirects browsers to https\n')
  expect(await message({})).not.toMatch(/Metrics|leads/)
})

test('start message: DB_ settings without PLATFORM_DATABASE are reported, for each kind and property', async () => {
  const note = (name: string) => `Note: ${name} is set, but PLATFORM_DATABASE is not`
  expect(await message({ DB_ALPHA_SERVER: 'db.example.org', DB_ALPHA_PASSWORD: 'p' })).toContain(
    note('DB_ALPHA_SERVER'),
  )
  const text = await message({ DB_GAMMA_PASSWORD: 'p' })
  expect(text).toContain(note('DB_GAMMA_PASSWORD'))
  expect(text).toContain('PLATFORM_DATABASE=gamma to keep it on that server')
  expect(await message({ DB_ALPHA_SERVER: 'db', PLATFORM_DATABASE: 'alpha' })).not.toContain('Note: DB_')
  expect(await message({ DB_ALPHA_SERVER: 'db', PLATFORM_DATABASE: 'embedded' })).not.toContain('Note: DB_')
  expect(await message({})).not.toContain('Note: DB_')
})
