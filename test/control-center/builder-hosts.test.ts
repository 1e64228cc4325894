import { expect, test } from 'vitest'
import { createBuilderHosts, registryOfImage } from '../../control-center/pipelines/builder-hosts.ts'

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'registry.example.org': ['203.0.114.7'],
  'both.example.org': ['203.0.114.7', '10.0.0.7'],
  'inside.example.org': ['192.168.1.7'],
}

/** Simulates a DNS lookup. Fails with ENOTFOUND for names that are not in the list. */
async function lookUp(name: string) {
  const found = NAMES[name]
  if (found === undefined) throw new Error('ENOTFOUND')
  return found.map((address) => ({ address, family: 4 }))
}

const needPublic = (place: string, allowed: readonly string[]) =>
  createBuilderHosts(allowed, { lookUp, ownAddresses: () => ['203.0.114.99'] }).needPublic(place)

test.each(['registry.example.org', 'registry.example.org:5000', 'not-found.example.org', '203.0.114.7'])(
  'a registry can be reached: %s',
  async (place) => {
    await expect(needPublic(place, [])).resolves.toBeUndefined()
  },
)

test.each([
  ...['127.0.0.1:5000', '[::1]:5000', '169.254.169.254', '10.1.2.3', '[fd00::1]', '0.0.0.0', '[::ffff:127.0.0.1]'],
  ...['both.example.org', 'inside.example.org:443', '2130706433', '0x7f.1', '203.0.114.99'],
])('a registry on the same machine or in a private network is rejected: %s', async (place) => {
  await expect(needPublic(place, ['other.example.org:443'])).rejects.toMatchObject({
    code: 'ERR_OUTBOUND_PRIVATE',
  })
})

test('REGISTRY_ALLOWED_HOSTS lists private registries that can be reached, with their ports', async () => {
  const allowed = ['127.0.0.1:5000', 'inside.example.org:443']
  await needPublic('127.0.0.1:5000', allowed)
  await needPublic('inside.example.org', allowed)
  await expect(needPublic('127.0.0.1:5001', allowed)).rejects.toThrow('add 127.0.0.1:5001 to REGISTRY_ALLOWED_HOSTS')
})

test('an image’s registry is the first part of its name if that is a host name', () => {
  const images = ['registry.example.org/a/b:1', '127.0.0.1:5000/a', 'localhost/a', 'debian:12', 'library/debian']
  expect(images.map(registryOfImage)).toEqual(['registry.example.org', '127.0.0.1:5000', 'localhost', null, null])
})
