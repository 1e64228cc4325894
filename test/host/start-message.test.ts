import { expect, test } from 'vitest'
import { readSettings } from '../../host/config/settings.ts'
import type { Host } from '../../host/main.ts'
import { startMessage } from '../../host/start-message.ts'

function message(properties: Record<string, string>, host: Partial<Host> = {}): Promise<string> {
  const url = 'http://127.0.0.1:8080'
  const addresses = { url, publicUrl: url, adminUrl: 'http://127.0.0.1:8081', redirectPort: null, metricsUrl: null }
  const none = { hasExamples: false, exampleUsers: null }
  const facts = { generatedPassword: null, sharedOrigin: true, solutionNames: () => Promise.resolve([]), ...none }
  return startMessage({ ...addresses, ...facts, ...host } as unknown as Host, readSettings(properties))
}

test('start message: the suggested origin uses https if the host serves TLS', async () => {
  expect(await message({})).toContain('(such as http://{name}.localhost)')
  const url = 'https://apps.example.org'
  expect(await message({}, { url, publicUrl: url })).toContain('(such as https://{name}.apps.example.org)')
})

test('start message: an unused control center token is reported', async () => {
  const text = 'REMOTE_ENVIRONMENT_TOKEN has no effect'
  const token = { REMOTE_ENVIRONMENT_TOKEN: 't', CLOUD_URL: 'https://cloud.example.org' }
  expect(await message(token)).toContain(text)
  expect(await message({ ...token, ENVIRONMENT: 'onprem' })).not.toContain(text)
  expect(await message({})).not.toContain(text)
})

test('start message: a Satellite names its control center, and a control center without a token is reported', async () => {
  const note = 'Note: CLOUD_URL is set, but REMOTE_ENVIRONMENT_TOKEN is not'
  const center = { ENVIRONMENT: 'onprem', CLOUD_URL: 'https://cloud.example.org' }
  expect(await message(center)).toContain(note)
  const connected = await message({ ...center, REMOTE_ENVIRONMENT_TOKEN: 't' })
  expect(connected).toContain(
    'Admin pages:    http://127.0.0.1:8081/admin/\nControl center: https://cloud.example.org/\n',
  )
  expect(connected).not.toContain('CLOUD_URL')
  expect(await message({})).not.toMatch(/CLOUD_URL|Control center/)
})

test('start message: the ports for metrics and http redirects are listed if they are open', async () => {
  const text = await message({}, { metricsUrl: 'http://127.0.0.1:9464/metrics', redirectPort: 8082 })
  expect(text).toContain('Metrics:        http://127.0.0.1:9464/metrics\nPort 8082 redirects browsers to HTTPS\n')
  expect(await message({})).not.toMatch(/Metrics|leads/)
})

test('start message: DB_ settings without PLATFORM_DATABASE are reported, for each kind and property', async () => {
  const note = (name: string) => `Note: ${name} is set, but PLATFORM_DATABASE is not`
  expect(await message({ DB_ALPHA_SERVER: 'db.example.org', DB_ALPHA_PASSWORD: 'p' })).toContain(
    note('DB_ALPHA_SERVER'),
  )
  const text = await message({ DB_GAMMA_PASSWORD: 'p' })
  expect(text).toContain(note('DB_GAMMA_PASSWORD'))
  expect(text).toContain('PLATFORM_DATABASE=gamma to store it on that server')
  expect(await message({ DB_ALPHA_SERVER: 'db', PLATFORM_DATABASE: 'alpha' })).not.toContain('Note: DB_')
  expect(await message({ DB_ALPHA_SERVER: 'db', PLATFORM_DATABASE: 'embedded' })).not.toContain('Note: DB_')
  expect(await message({})).not.toContain('Note: DB_')
})

test('start message: a mail server without an address for links is reported', async () => {
  const note = 'SMTP_URL is set, but the host sends no emails'
  const mail = { SMTP_URL: 'smtp://127.0.0.1', MAIL_FROM: 'no-reply@example.org' }
  expect(await message(mail)).toContain(note)
  expect(await message({ ...mail, PUBLIC_URL: 'https://apps.example.org' })).not.toContain(note)
  expect(await message({ ...mail, SOLUTION_ORIGIN: 'http://{name}.localhost' })).not.toContain(note)
  expect(await message({})).not.toContain(note)
})

/** A host with the examples, two of which the operator deleted. */
const EXAMPLES: Partial<Host> = {
  hasExamples: true,
  solutionNames: async () => ['orders', 'tenant-login'],
  addressOf: (name) => `http://127.0.0.1:8080/solution/${name}/`,
  exampleUsers: {
    file: '/home/example-users',
    list: async () => [{ username: 'vera', password: 'dmhx-8gmm-vz62-84sk', permissions: ['Orders'] }],
  },
}

test('start message: the generated passwords of example users are shown only on a terminal', async () => {
  const ofOrders = '  http://127.0.0.1:8080/solution/orders/\n      Sign in as vera'
  const settings = readSettings({})
  const addresses = { url: '', publicUrl: '', adminUrl: '', redirectPort: null, metricsUrl: null }
  const host = { ...addresses, generatedPassword: null, sharedOrigin: false, ...EXAMPLES } as unknown as Host
  expect(await startMessage(host, settings, true)).toContain(
    `${ofOrders}, password dmhx-8gmm-vz62-84sk (permission Orders)\n  http`,
  )
  const stored = await startMessage(host, settings, false)
  expect(stored).toContain(`${ofOrders} (permission Orders)\n      Their passwords are in /home/example-users\n`)
  expect(stored).not.toContain('dmhx')
})

test('start message: examples with published passwords are reported if other machines can reach the host', async () => {
  const note = 'the passwords of these examples are public: tenant-login.'
  expect(await message({}, EXAMPLES)).not.toContain(note)
  expect(await message({ HOST: '0.0.0.0' }, EXAMPLES)).toContain(note)
  expect(await message({ PUBLIC_URL: 'https://apps.example.org' }, EXAMPLES)).toContain(note)
  expect(await message({ HOST: '0.0.0.0' }, { ...EXAMPLES, hasExamples: false })).not.toContain(note)
  expect(await message({ HOST: '0.0.0.0' }, { ...EXAMPLES, solutionNames: async () => ['orders'] })).not.toContain(note)
})
