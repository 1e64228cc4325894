import { expect, test } from 'vitest'
import { check, checkOwn, useLabs } from './attack-labs.ts'
import { isEveryAttackRun, readAttacks } from './attacks.ts'

// Runs the never-ending attack scripts in the hardened realm.

useLabs('hardened')

/**
 * Scripts that stay in one built-in function, so that only terminating their process stops them. The realm makes no
 * difference to these scripts, so they run here only in `npm run long -- attacks`.
 */
const NATIVE = [
  'cpu-array-fill-proxy-length.js',
  'cpu-array-from-length.js',
  'cpu-bigint-multiply.js',
  'cpu-bigint-power.js',
  'cpu-copy-within.js',
  'cpu-date-parse.js',
  'cpu-encode-uri.js',
  'cpu-locale-compare.js',
  'cpu-normalize.js',
  'cpu-segmenter.js',
  'cpu-sparse-array-join.js',
  'cpu-string-raw.js',
]

const loops = (folder: string) =>
  readAttacks(folder).filter(({ name }) => name.startsWith('cpu-') && (isEveryAttackRun || !NATIVE.includes(name)))

test.each(loops('own'))(
  'our attack $name has only the outcome and effects that it declares, and does not affect another solution',
  checkOwn,
)

test.each(loops('scripts'))(
  'attack $name has an outcome that it declares, and does not affect another solution',
  (attack) => check(attack, ({ log }) => expect(log.length).toBeLessThanOrEqual(203)),
)
