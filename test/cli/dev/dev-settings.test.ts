import { expect, test } from 'vitest'
import { devSettings } from '../../../cli/dev/dev-settings.ts'

const PLACES = { home: '/somewhere/dev/shop', port: 8090, adminPort: 8091 }

test('dev: regardless of the settings for another host, it listens on 127.0.0.1 and keeps its data in its own home', () => {
  const settings = devSettings(
    {
      HOST: '0.0.0.0',
      ADMIN_HOST: '0.0.0.0',
      PORT: '80',
      ADMIN_PORT: '81',
      PUBLIC_URL: 'https://apps.example.org',
      SOLUTION_ORIGIN: 'https://{name}.apps.example.org',
      TRUSTED_PROXIES: '10.0.0.0/8',
      ALLOWED_HOSTS: 'apps.example.org',
      PLATFORM_HOME: '/srv/platform',
      PLATFORM_DATABASE: 'alpha',
      PLATFORM_KEY: 'the key of another host, long enough to be one',
      ENVIRONMENT: 'prod',
    },
    PLACES,
  )
  expect(settings).toMatchObject({
    host: '127.0.0.1',
    adminHost: '127.0.0.1',
    port: 8090,
    adminPort: 8091,
    publicUrl: null,
    solutionOrigin: null,
    trustedProxies: [],
    allowedHosts: [],
    home: PLACES.home,
    database: { kind: 'embedded' },
    platformKey: '',
    environment: 'dev',
  })
})

test('dev: settings that control how a host works apply as with "solhost start"', () => {
  const settings = devSettings(
    { CALL_TIME: '3s', TIMEZONE: 'Europe/Brussels', DB_ALPHA_SERVER: 'db.example.org' },
    PLACES,
  )
  expect([settings.limits.CALL_TIME, settings.timeZone, settings.databaseServers.alpha.host]).toEqual([
    3000,
    'Europe/Brussels',
    'db.example.org',
  ])
})
