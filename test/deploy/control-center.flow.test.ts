import { describe, expect, test } from 'vitest'
import { CENTER_PROPERTIES } from '../../control-center/config/properties.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { NAVIGATION } from '../support/admin.ts'
import { startTestCenter } from '../support/center.ts'
import { freePort } from '../support/database-server.ts'
import {
  askProxied,
  CENTER_HAPROXY_CONFIG,
  centerProxyVariables,
  checkProxyConfig,
  haproxyPath,
  originOf,
  proxyCertificate,
  startHaproxy,
} from '../support/haproxy.ts'
import { at, type Described, documentsOf, textOf } from './delivered.ts'

const [compose] = documentsOf('control-center/compose.yaml')
const services = at(compose, 'services') as Record<string, Described>
const service = (name: string) => services[name] as Described
const center = service('control-center')
const environment = Object.fromEntries(
  Object.entries(center.environment as Record<string, string>).map(([name, value]) => [
    name,
    value.replace(/\$\{DOMAIN:\?[^}]*\}/, 'center.example.org'),
  ]),
)
const withoutFiles = Object.fromEntries(Object.entries(environment).filter(([name]) => !name.endsWith('_FILE')))

test('compose: all settings are valid for a control center', () => {
  expect(readCenterSettings(withoutFiles)).toMatchObject({
    database: { kind: 'alpha', name: at(service('database'), 'environment.POSTGRES_DB') },
    publicUrl: new URL('https://center.example.org'),
    trustedProxies: [at(service('proxy'), 'networks.front.ipv4_address')],
    port: Number(at(service('proxy'), 'environment.CENTER_PORT')),
    databaseServers: {
      alpha: { host: 'database', port: 5432, username: at(service('database'), 'environment.POSTGRES_USER') },
    },
  })
  const given = Object.keys(environment).map((key) => key.replace(/_FILE$/, ''))
  expect(given.filter((key) => !Object.hasOwn(CENTER_PROPERTIES, key))).toEqual([])
  // The mail settings, which are commented out in the file.
  const later = [...textOf('control-center/compose.yaml').matchAll(/# ([A-Z_]+): /g)].map(([, name = '']) => name)
  expect(later.map((name) => Object.hasOwn(CENTER_PROPERTIES, name.replace(/_FILE$/, '')))).toEqual([true, true])
})

test('compose: the container uses the image’s entry point, and stays below its memory limit', () => {
  expect([center.entrypoint, center.command]).toEqual([['control-center'], []])
  expect(textOf('../Dockerfile')).toContain('/usr/local/bin/control-center')
  const limit = Number(/^(\d+)m$/.exec(String(center.mem_limit))?.[1]) * 1024 ** 2
  expect(readCenterSettings(withoutFiles).memory.maximum).toBeLessThan(limit)
})

test.each(['control-center', 'proxy'])(
  'compose: %s can write only to its own folders and has no root privileges',
  (name) => {
    expect(service(name)).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  },
)

test('compose: every secret, volume and network in use is declared and created, and each service has exactly the secrets that it reads', () => {
  const all = Object.values(services)
  const secrets = all.flatMap((one) => (one.secrets as string[] | undefined) ?? [])
  const files = at(compose, 'secrets') as Record<string, { file: string }>
  expect(new Set(secrets)).toEqual(new Set(Object.keys(files)))
  const made = textOf('control-center/make-secrets.sh')
  for (const { file } of Object.values(files)) expect(made).toContain(file.replace('./secrets/', ''))
  for (const one of all) {
    const read = Object.values((one.environment as Record<string, string> | undefined) ?? {})
      .filter((value) => value.startsWith('/run/secrets/'))
      .map((value) => value.slice('/run/secrets/'.length))
    expect(new Set(read)).toEqual(new Set((one.secrets as string[] | undefined) ?? []))
  }
  const volumes = all.flatMap((one) => ((one.volumes as string[] | undefined) ?? []).map((text) => text.split(':')[0]))
  const named = volumes.filter((name) => name?.startsWith('.') === false)
  expect(new Set(named)).toEqual(new Set(Object.keys(at(compose, 'volumes') as object)))
  expect(textOf('control-center/compose.yaml')).not.toMatch(/PASSWORD: |PLATFORM_KEY: /)
})

test('compose: only the proxy is reachable from outside, and its environment has every variable that its configuration reads', () => {
  const ports = Object.entries(services).flatMap(([name, { ports = [] }]) =>
    (ports as string[]).map((port) => `${name} ${port}`),
  )
  expect(ports).toEqual(['proxy 443:8443', 'proxy 80:8080'])
  expect(at(compose, 'networks.back.internal')).toBe(true)
  const read = [...textOf('control-center/haproxy.cfg').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)
  expect(new Set(read)).toEqual(new Set(Object.keys(service('proxy').environment as object)))
})

describe.skipIf(haproxyPath === undefined)('a control center behind the proxy in deploy/', () => {
  test('pages, forms and Satellite requests work through the proxy; spoofed forwarding headers of a browser are ignored', async () => {
    const certificate = proxyCertificate()
    const port = await freePort()
    const variables = await centerProxyVariables('127.0.0.1', port, certificate.file)
    const origin = originOf(variables)
    expect(checkProxyConfig(variables, CENTER_HAPROXY_CONFIG)).toMatchObject({ status: 0, stderr: '' })
    const behind = await startTestCenter({ PORT: String(port), PUBLIC_URL: origin, TRUSTED_PROXIES: '127.0.0.1' })
    const proxy = await startHaproxy(variables, CENTER_HAPROXY_CONFIG)
    try {
      const ready = async () => (await askProxied(origin, { path: '/health/ready' })).status
      await expect.poll(ready).toBe(200)
      const page = await askProxied(origin, { path: '/sign-in', headers: NAVIGATION })
      expect([page.status, page.headers['strict-transport-security']]).toEqual([200, 'max-age=31536000'])
      const refused = await askProxied(origin, {
        path: '/sign-in',
        method: 'POST',
        headers: {
          ...NAVIGATION,
          'content-type': 'application/x-www-form-urlencoded',
          'x-forwarded-for': '203.0.113.9',
          'x-forwarded-proto': 'http',
          forwarded: 'for=203.0.113.9',
        },
        body: 'username=owner%40example.org&password=wrong',
      })
      expect(refused.status).toBe(401)
      const { items } = await behind.parts.audit.read({ organisation: '', limit: 10 })
      expect(items.map(({ address }) => address)).toEqual(['127.0.0.1'])
      const { token } = await behind.environment('east')
      const desired = await askProxied(origin, {
        path: '/satellite/v1/desired?after=0&wait=1',
        headers: { authorization: `Bearer ${token}` },
      })
      expect([200, 204]).toContain(desired.status)
    } finally {
      await proxy.stop()
      await behind.stop()
      certificate.remove()
    }
  })
})
