import { expect, test } from 'vitest'
import { needPublicRegistry, registryOfImage } from '../../control-center/pipelines/builder-hosts.ts'

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'registry.example.org': ['203.0.114.7'],
  'both.example.org': ['203.0.114.7', '10.0.0.7'],
  'inside.example.org': ['192.168.1.7'],
}

/** An address is its own; a name that is not in the list is not found. */
async function resolve(name: string): Promise<readonly string[]> {
  const found = NAMES[name] ?? (/^[\d.]+$|:/.test(name) ? [name] : null)
  if (found === null) throw new Error('ENOTFOUND')
  return found
}

test.each(['registry.example.org', 'registry.example.org:5000', 'not-found.example.org', '203.0.114.7'])(
  'a registry is asked: %s',
  async (place) => {
    await expect(needPublicRegistry(place, [], resolve)).resolves.toBeUndefined()
  },
)

test.each([
  ...['127.0.0.1:5000', '[::1]:5000', '169.254.169.254', '10.1.2.3', '[fd00::1]', '0.0.0.0', '[::ffff:127.0.0.1]'],
  ...['both.example.org', 'inside.example.org:443', '2130706433', '0x7f.1'],
])('a registry of this machine or a private network is refused: %s', async (place) => {
  await expect(needPublicRegistry(place, ['other.example.org:443'], resolve)).rejects.toMatchObject({
    code: 'ERR_OUTBOUND_PRIVATE',
  })
})

test('REGISTRY_ALLOWED_HOSTS lists those that are asked all the same, with their ports', async () => {
  const allowed = ['127.0.0.1:5000', 'inside.example.org:443']
  await needPublicRegistry('127.0.0.1:5000', allowed, resolve)
  await needPublicRegistry('inside.example.org', allowed, resolve)
  await expect(needPublicRegistry('127.0.0.1:5001', allowed, resolve)).rejects.toThrow(
    'REGISTRY_ALLOWED_HOSTS=127.0.0.1:5001',
  )
})

test('the registry of an image is the first part of its name, where that is a host', () => {
  const images = ['registry.example.org/a/b:1', '127.0.0.1:5000/a', 'localhost/a', 'debian:12', 'library/debian']
  expect(images.map(registryOfImage)).toEqual(['registry.example.org', '127.0.0.1:5000', 'localhost', null, null])
})
