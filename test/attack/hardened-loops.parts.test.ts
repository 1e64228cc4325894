import { expect, test } from 'vitest'
import { check, checkOwn, useLabs } from './attack-labs.ts'
import { readAttacks, usuallyOnly } from './attacks.ts'

// Runs the never-ending attack scripts in the hardened realm.

useLabs('hardened')

/**
 * Scripts that loop where a realm could matter: in code that the platform calls, while a context is created, or after
 * the response. The other scripts loop in their own code or in a built-in function. They run here only in `npm run long
 * -- attacks`; `own-loops` and `scripts` always run all scripts in the fresh realm.
 */
const isRun = usuallyOnly([
  'cpu-loop-at-load.js',
  'cpu-loop-in-global-getter.js',
  'cpu-loop-in-listener.js',
  'cpu-loop-in-log-argument.js',
  'cpu-loop-in-result-tojson.js',
  'cpu-loop-in-then-getter.js',
  'cpu-loop-in-unhandled-rejection-error.js',
  'cpu-microtasks-after-return.js',
  'cpu-microtasks-at-load.js',
  'cpu-native-loop-after-answer.js',
  'cpu-native-loop-in-made-ahead-context.js',
  'cpu-never-settling-promise.js',
  'cpu-rejection-at-load.js',
  'cpu-rejection-in-made-ahead-context.js',
  'cpu-slow-requests-for-ever.js',
  'cpu-stack-formatter-logs-itself.js',
])

const loops = (folder: string) =>
  readAttacks(folder).filter((attack) => attack.name.startsWith('cpu-') && isRun(attack))

test.each(loops('own'))(
  'our attack $name has only the outcome and effects that it declares, and does not affect another solution',
  checkOwn,
)

test.each(loops('scripts'))(
  'attack $name has an outcome that it declares, and does not affect another solution',
  (attack) => check(attack, ({ log }) => expect(log.length).toBeLessThanOrEqual(203)),
)
