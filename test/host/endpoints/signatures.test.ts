import { expect, test } from 'vitest'
import { readSignature } from '../../../host/endpoints/signatures.ts'

const NOW = 1_800_000_000_000

/** Headers of a webhook whose signature was created `ms` after `NOW`. */
function signedAfter(ms: number) {
  const time = String((NOW + ms) / 1000)
  return {
    'stripe-signature': `t=${time},v1=${'0'.repeat(64)}`,
    'webhook-id': 'msg_1',
    'webhook-timestamp': time,
    'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
  }
}

test.each(['stripe', 'standard'] as const)('a %s signature is read up to 300 s before or after its time', (scheme) => {
  const isRead = (ms: number) => readSignature(scheme, signedAfter(ms), NOW) !== null
  expect([-301_000, -300_000, 0, 300_000, 301_000].map(isRead)).toEqual([false, true, true, true, false])
})
