import { describe, expect, test } from 'vitest'
import { readSettings } from '../../host/config/settings.ts'
import { checkProxyConfig, haproxyPath, proxyCertificate, proxyVariables } from '../support/haproxy.ts'
import { at, type Described, documentsOf, textOf } from './delivered.ts'

const [compose] = documentsOf('compose.yaml')
const service = (name: string) => at(compose, `services.${name}`) as Described
const NODES = ['node-one', 'node-two'] as const
const VARIABLES = { DOMAIN: 'apps.example.org' }

/** Expands `${NAME}`, `${NAME:-default}` and `${NAME:?why}` as Docker Compose does. */
function filled(text: string): string {
  return text.replace(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_all, name: string, other = '') => {
    return (VARIABLES as Record<string, string>)[name] ?? other
  })
}

/** A node's environment, without the secrets, because their files do not exist here. */
function environmentOf(name: string): Record<string, string> {
  const entries = Object.entries(service(name).environment as Record<string, string>)
  return Object.fromEntries(entries.map(([key, value]) => [key, filled(value)]))
}

test.each(NODES)('compose: %s contains only known settings with valid values', (name) => {
  const { limits: _limits, shown, ...settings } = readSettings(withoutFiles(environmentOf(name)))
  expect(settings).toMatchObject({
    database: { kind: 'alpha', name: 'platform' },
    drainTime: 10_000,
    publicUrl: new URL('https://apps.example.org'),
    trustedProxies: [at(service('proxy'), 'networks.front.ipv4_address')],
    databaseServers: {
      alpha: { host: 'database', port: 5432, username: at(service('database'), 'environment.POSTGRES_USER') },
    },
  })
  const known = shown.map((setting) => setting.name)
  const given = Object.keys(environmentOf(name)).map((key) => key.replace(/_FILE$/, ''))
  expect(given.filter((key) => !known.includes(key))).toEqual([])
})

test('compose: the two nodes differ only in their names and folders', () => {
  const [one, two] = NODES.map((name) => ({ ...service(name), hostname: '', volumes: [] }))
  expect(one).toEqual(two)
  expect(service('node-one').volumes).not.toEqual(service('node-two').volumes)
})

test.each([...NODES, 'proxy'])('compose: %s can write only to its own folders and has no root privileges', (name) => {
  expect(service(name)).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  })
})

test('compose: Docker’s stop timeout is longer than the time that a node needs to drain and stop', () => {
  const { drainTime } = readSettings(withoutFiles(environmentOf('node-one')))
  const grace = Number(/^(\d+)s$/.exec(String(service('node-one').stop_grace_period))?.[1]) * 1000
  expect(grace).toBeGreaterThan(drainTime + 4000)
})

test('compose: every secret, volume and network in use is declared, and every declaration is used', () => {
  const services = Object.values(at(compose, 'services') as Record<string, Described>)
  const secrets = services.flatMap((one) => (one.secrets as string[] | undefined) ?? [])
  expect(new Set(secrets)).toEqual(new Set(Object.keys(at(compose, 'secrets') as object)))
  const volumes = services.flatMap((one) =>
    ((one.volumes as string[] | undefined) ?? []).map((text) => text.split(':')[0]),
  )
  const named = volumes.filter((name) => !name?.startsWith('.'))
  expect(new Set(named)).toEqual(new Set(Object.keys(at(compose, 'volumes') as object)))
  const networks = services.flatMap((one) =>
    Array.isArray(one.networks) ? one.networks : Object.keys(one.networks as object),
  )
  expect(new Set(networks)).toEqual(new Set(Object.keys(at(compose, 'networks') as object)))
})

test('compose: each service has exactly the secrets that it reads', () => {
  for (const one of Object.values(at(compose, 'services') as Record<string, Described>)) {
    const files = Object.values((one.environment as Record<string, string> | undefined) ?? {})
      .filter((value) => String(value).startsWith('/run/secrets/'))
      .map((value) => value.slice('/run/secrets/'.length))
    expect(new Set(files)).toEqual(new Set((one.secrets as string[] | undefined) ?? []))
  }
})

test('compose: make-secrets.sh creates every secret, and compose.yaml contains none', () => {
  const files = Object.values(at(compose, 'secrets') as Record<string, { file: string }>).map(({ file }) => file)
  for (const file of files) expect(textOf('make-secrets.sh')).toContain(file.replace('./secrets/', ''))
  expect(textOf('compose.yaml')).not.toMatch(/PASSWORD: |PLATFORM_KEY: /)
})

test('compose: only the proxy is reachable from outside, and the admin pages only from the same machine', () => {
  const ports = Object.entries(at(compose, 'services') as Record<string, Described>).flatMap(([name, { ports = [] }]) =>
    (ports as string[]).map((port) => `${name} ${port}`),
  )
  expect(ports).toEqual(['proxy 443:8443', 'proxy 80:8080', 'proxy 127.0.0.1:8081:8081'])
  expect(at(compose, 'networks.back.internal')).toBe(true)
})

test('proxy: the environment contains exactly the variables that the configuration reads', () => {
  const read = [...textOf('haproxy.cfg').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)
  expect(new Set(read)).toEqual(new Set(Object.keys(service('proxy').environment as object)))
  expect([at(service('proxy'), 'environment.NODE_ONE'), at(service('proxy'), 'environment.NODE_TWO')]).toEqual([
    ...NODES,
  ])
})

test('proxy: headers that only a proxy may set are dropped or replaced when a browser sends them', () => {
  const [pages] = textOf('haproxy.cfg').split('backend pages')
  const ours = [...(pages ?? '').matchAll(/^ {2}http-request (?:set|del)-header (\S+)/gm)].map(([, name]) => name)
  expect(ours).toEqual([
    'X-Forwarded-For',
    'X-Forwarded-Proto',
    'X-Forwarded-Host',
    'Forwarded',
    'traceparent',
    'tracestate',
  ])
})

describe.skipIf(haproxyPath === undefined)('HAProxy', () => {
  test('proxy: HAProxy accepts the configuration without warnings', async () => {
    const certificate = proxyCertificate()
    const { status, stdout, stderr } = checkProxyConfig(
      await proxyVariables(['127.0.0.1', '127.0.0.2'], 8080, certificate.file),
    )
    certificate.remove()
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain('Configuration file is valid')
  })
})

function withoutFiles(environment: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.endsWith('_FILE')))
}
