import { expect, test } from 'vitest'
import { check, checkOwn, useLabs } from './attack-labs.ts'
import { readAttacks } from './attacks.ts'

// The attack scripts that never end, in the hardened realm.

useLabs('hardened')

const loops = (folder: string) => readAttacks(folder).filter(({ name }) => name.startsWith('cpu-'))

test.each(loops('own'))(
  'our attack $name has only the outcome and effects that it declares, and does not affect another solution',
  checkOwn,
)

test.each(loops('scripts'))(
  'attack $name has an outcome that it declares, and does not affect another solution',
  (attack) => check(attack, ({ log }) => expect(log.length).toBeLessThanOrEqual(203)),
)
