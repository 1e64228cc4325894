import { expect, test } from 'vitest'
import { check, checkOwn, useLabs } from './attack-labs.ts'
import { readAttacks, usuallyOnly } from './attacks.ts'

// Runs attack scripts again in the hardened realm: all except those that never end (see hardened-loops.parts.test.ts) and
// some that fill the memory. Their logins share one context. The realm may also refuse a script's action.

useLabs('hardened')

/**
 * Scripts that keep memory over several logins, or use it in code that the platform calls. Any other script fills the
 * memory in its own code, which the limit ends in the same way in both realms. It runs here only in `npm run long --
 * attacks`.
 */
const fillsMemoryHere = usuallyOnly([
  'mem-in-made-ahead-context.js',
  'mem-log-argument.js',
  'mem-microtask-queue.js',
  'mem-pending-async.js',
  'mem-request-answers.js',
  'mem-result-huge-buffer.js',
  'mem-result-sparse-array.js',
  'mem-symbols-over-logins.js',
  'mem-symbols-registered.js',
  'mem-thrown-huge-message.js',
  'mem-weak-map.js',
])

function attacksIn(folder: string) {
  return readAttacks(folder).filter((attack) =>
    attack.name.startsWith('mem-') ? fillsMemoryHere(attack) : !attack.name.startsWith('cpu-'),
  )
}

test.each(attacksIn('own'))(
  'our attack $name has only the outcome and effects that it declares, and does not affect another solution',
  checkOwn,
)

test.each(attacksIn('scripts'))(
  'attack $name has an outcome that it declares, and does not affect another solution',
  async (attack) => {
    await check(attack, ({ log }) => expect(log.length).toBeLessThanOrEqual(203))
  },
)
