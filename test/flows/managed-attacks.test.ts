import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LONGEST_STATEMENT } from '../../base/protocol/protocol.ts'
import type { TestHost } from '../support/host.ts'
import { activeOf, cloudOf, startSatellite, type TestVersion, versionOf } from '../support/managed.ts'
import { type PlayedCenter, playCenter, signingKey, stateOf } from '../support/played-center.ts'

const OFTEN = { interval: 50 }
const TOKEN = `ret_${'a'.repeat(43)}`
let center: PlayedCenter
let home: string
let satellite: TestHost
let v1: TestVersion
let v2: TestVersion
beforeAll(async () => {
  center = await playCenter()
  home = mkdtempSync(join(tmpdir(), 'managed-attacks-'))
  v1 = await versionOf('1.0.0')
  v2 = await versionOf('2.0.0')
  satellite = await startSatellite(center, TOKEN, {}, { home })
})
afterAll(async () => {
  await satellite.stop()
  await center.stop()
  rmSync(home, { recursive: true })
})

const wanted = ({ sha256, version }: TestVersion) => ({ solutions: { crm: { sha256, version } } })

async function restart(properties: Record<string, string> = {}, token = TOKEN): Promise<void> {
  await satellite.stop()
  satellite = await startSatellite(center, token, properties, { home })
}

/**
 * Expects the Satellite to reject the statement and to run the same version as before. Restarts the Satellite to skip
 * the delay after a rejection.
 */
async function expectRefused(statement: string, why: RegExp): Promise<void> {
  const before = await activeOf(satellite)
  center.says(statement)
  await restart()
  await expect.poll(async () => (await cloudOf(satellite)).refused, OFTEN).toMatch(why)
  expect(await activeOf(satellite)).toBe(before)
  await expect.poll(() => center.reports.at(-1)?.outcome, OFTEN).toBe('refused')
  expect(center.reports.at(-1)?.reason).toMatch(why)
  expect(satellite.logged()).toContain('the desired state from the control center was rejected')
}

test('managed: a statement signed with the key from the first connection is accepted', async () => {
  center.gives(v1.bundle)
  center.says(await center.key.sign(stateOf(10, wanted(v1))))
  await expect.poll(() => activeOf(satellite), OFTEN).toBe('1.0.0')
  await expect.poll(async () => (await cloudOf(satellite)).number, OFTEN).toBe(10)
})

test('managed: a statement signed with another key is rejected', async () => {
  const { sign } = await signingKey()
  await expectRefused(await sign(stateOf(11, wanted(v2))), /not signed with the key/)
})

test('managed: a statement changed after signing is rejected', async () => {
  const [header, , signature] = (await center.key.sign(stateOf(10, wanted(v1)))).split('.')
  const payload = Buffer.from(JSON.stringify(stateOf(11, wanted(v2)))).toString('base64url')
  await expectRefused(`${header}.${payload}.${signature}`, /not signed with the key/)
})

test('managed: a statement without a signature is rejected', async () => {
  const header = Buffer.from('{"alg":"none","typ":"solhost-desired+jws"}').toString('base64url')
  const payload = Buffer.from(JSON.stringify(stateOf(11, wanted(v2)))).toString('base64url')
  await expectRefused(`${header}.${payload}.`, /not signed with the key/)
})

test('managed: another type of document signed with the right key is rejected', async () => {
  await expectRefused(await center.key.sign(stateOf(11, wanted(v2)), { typ: 'JWT' }), /type/)
})

test('managed: an older statement is rejected, even with a valid signature', async () => {
  await expectRefused(await center.key.sign(stateOf(9, wanted(v1))), /lower than the last accepted one, 10/)
})

test('managed: a different statement with the same sequence number is rejected', async () => {
  await expectRefused(
    await center.key.sign(stateOf(10, wanted(v2))),
    /a different desired state with the sequence number 10 was already accepted/,
  )
})

test('managed: a statement for another environment is rejected', async () => {
  await expectRefused(await center.key.sign(stateOf(11, { environment: randomUUID() })), /is for the environment/)
})

test('managed: a statement with a setting that the control center may not change is rejected completely', async () => {
  for (const more of [
    { grants: { crm: {} } },
    { settings: { adminPassword: 'x' } },
    { settings: { oauth: { crm: { issuer: 'https://evil.example' } } } },
    { settings: { oauth: { crm: { apiSecret: 'a secret' } } } },
  ]) {
    await expectRefused(await center.key.sign(stateOf(11, { ...wanted(v2), ...more })), /is not allowed to set/)
  }
})

test('managed: an overlong statement is rejected before it is parsed', async () => {
  await expectRefused('a'.repeat(LONGEST_STATEMENT + 1), /contains no desired state/)
  await expectRefused('a'.repeat(2 * LONGEST_STATEMENT), /too large/)
})

test('managed: a bundle whose SHA-256 differs from the signed one is rejected, and the previous version keeps running', async () => {
  center.gives(v1.bundle)
  center.says(await center.key.sign(stateOf(12, wanted(v2))))
  await restart()
  await expect.poll(async () => (await cloudOf(satellite)).number, OFTEN).toBe(12)
  expect((await cloudOf(satellite)).failed).toEqual([
    {
      name: 'crm',
      message:
        'The SHA-256 of the downloaded bundle does not match the signed desired state. Upload the bundle to the control center again.',
    },
  ])
  expect(await activeOf(satellite)).toBe('1.0.0')
  await expect.poll(() => center.reports.at(-1)?.results[0]?.code, OFTEN).toBe('ERR_BUNDLE_ALTERED')
})

test('managed: a key pinned by the operator takes precedence over the key from the first connection', async () => {
  const pinned = await signingKey()
  center.gives(v2.bundle)
  center.says(await center.key.sign(stateOf(13, wanted(v2))))
  await restart({ CLOUD_PUBLIC_KEY: pinned.publicKey })
  await expect.poll(async () => (await cloudOf(satellite)).refused, OFTEN).toMatch(/not signed with the key/)
  center.says(await pinned.sign(stateOf(13, wanted(v2))))
  await restart({ CLOUD_PUBLIC_KEY: pinned.publicKey })
  await expect.poll(() => activeOf(satellite), OFTEN).toBe('2.0.0')
})

test('managed: a Satellite with a new token moves to another environment, which has its own sequence numbers', async () => {
  const environment = randomUUID()
  center.gives(v1.bundle)
  center.says(await center.key.sign(stateOf(1, { ...wanted(v1), environment })))
  await restart({}, `ret_${'b'.repeat(43)}`)
  await expect.poll(() => activeOf(satellite), OFTEN).toBe('1.0.0')
  center.says(await center.key.sign(stateOf(13, wanted(v1))))
  await restart({}, `ret_${'c'.repeat(43)}`)
  await expect
    .poll(async () => (await cloudOf(satellite)).refused, OFTEN)
    .toMatch(/a different desired state with the sequence number/)
})
