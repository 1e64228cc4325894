import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'

test('settings: by default, the platform’s database is embedded and the servers have the documented settings', () => {
  const { database, databaseServers } = readSettings({})
  expect(database).toEqual({ kind: 'embedded', name: 'platform' })
  expect(databaseServers).toEqual({
    alpha: { host: 'dev-alpha-service', port: 5432, username: 'postgres', password: '', tls: 'off' },
    beta: { host: 'dev-beta-service', port: 1433, username: 'sa', password: '', tls: 'off' },
    gamma: { host: 'dev-gamma-service', port: 3306, username: 'root', password: '', tls: 'off' },
  })
})

test('settings: every property of a database server is read', () => {
  const { database, databaseServers } = readSettings({
    PLATFORM_DATABASE: 'gamma',
    PLATFORM_DATABASE_NAME: 'sol_host-1',
    DB_GAMMA_SERVER: '[2001:db8::7]',
    DB_GAMMA_PORT: '3307',
    DB_GAMMA_USERNAME: 'solhost',
    DB_GAMMA_PASSWORD: 'p:a"s\'s',
    DB_GAMMA_TLS: 'verify',
  })
  expect(database).toEqual({ kind: 'gamma', name: 'sol_host-1' })
  const server = { host: '2001:db8::7', port: 3307, username: 'solhost', password: 'p:a"s\'s', tls: 'verify' }
  expect(databaseServers.gamma).toEqual(server)
})

test('settings: a password may be read from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-settings-'))
  writeFileSync(join(folder, 'password'), 'from a file\n')
  const { databaseServers } = readSettings({ DB_ALPHA_PASSWORD_FILE: join(folder, 'password') })
  expect(databaseServers.alpha.password).toBe('from a file')
  rmSync(folder, { recursive: true })
})

test.each([
  ['PLATFORM_DATABASE', 'delta', 'must be one of embedded, alpha, beta, gamma'],
  ['PLATFORM_DATABASE_NAME', 'x; drop table', 'must be 1 to 63 letters'],
  ['DB_ALPHA_SERVER', 'postgres://db/x', 'must be a host name or an IP address'],
  ['DB_BETA_PORT', '0', 'must be a port from 1 to 65535'],
  ['DB_GAMMA_TLS', 'maybe', 'must be off, on'],
])('settings: %s with the value "%s" prevents startup', (name, value, text) => {
  expect(() => readSettings({ [name]: value })).toThrow(`${name} ${text}`)
})

test('settings: a password that is too long prevents startup, and the password is not shown', () => {
  const password = 'secret '.repeat(200).trim()
  expect(() => readSettings({ DB_BETA_PASSWORD: password })).toThrow(
    'DB_BETA_PASSWORD must be at most 1000 characters, but has 1399 characters',
  )
})
