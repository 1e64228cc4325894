import { afterEach, expect, test } from 'vitest'
import { type BundleChecks, createBundleChecks } from '../../control-center/packages/bundle-checks.ts'
import { changesOf } from '../../control-center/rollouts/changes.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createLimits } from '../../runtime/limits.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

let checks: BundleChecks | null = null
afterEach(() => checks?.stop())

test('bundles are read only when it is their turn to be compared, so that waiting pages hold none in memory', async () => {
  checks = createBundleChecks(createLimits(), { minimum: 0, maximum: 1024 ** 3 })
  const bundle = await bundleOf({ name: 'shop' })
  const gate = Promise.withResolvers<void>()
  let reads = 0
  async function read(): Promise<Uint8Array> {
    reads += 1
    await gate.promise
    return bundle
  }
  const asked = Array.from({ length: 5 }, () => checks?.compare(read, read, false))
  const manifest = checks.manifestOf(read)
  await waitUntil(() => expect(reads).toBe(4))
  gate.resolve()
  for (const difference of await Promise.all(asked)) expect(difference?.files).toEqual([])
  expect((await manifest)?.name).toBe('shop')
  expect(reads).toBe(11)
})

test('a rollout says so if its version was deleted while it waited for its comparison, or if the queue is full', async () => {
  const from = { sha256: 'a'.repeat(64), version: '1.0.0' }
  const wanted = { organisation: 'acme', package: 'shop', sha256: 'b'.repeat(64), version: '2.0.0' }
  const stored = {
    ...from,
    title: 'Shop',
    authenticator: 'NONE',
    bytes: 1,
    stamp: null,
    uploadedAt: 1,
    uploadedBy: 'anna',
  }
  const packages = { findVersion: async () => stored, bundle: async () => null }
  const stateWith = async (compare: BundleChecks['compare']) => {
    const [change] = await changesOf({ packages, bundleChecks: { compare } }, wanted, [{ name: 'test', before: from }])
    return change?.state
  }
  const reading: BundleChecks['compare'] = async (older) => {
    await older()
    throw new TypeError('there is nothing to read')
  }
  expect(await stateWith(reading)).toBe('gone')
  expect(await stateWith(() => Promise.reject(new PlatformError('ERR_SANDBOX_BUSY', 'full')))).toBe('busy')
})
