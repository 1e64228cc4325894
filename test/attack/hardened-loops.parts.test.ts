import { expect, test } from 'vitest'
import { check, checkOwn, useLabs } from './attack-labs.ts'
import { readAttacks } from './attacks.ts'

// The attack scripts that never end, in the hardened realm.

useLabs('hardened')

const loops = (folder: string) => readAttacks(folder).filter(({ name }) => name.startsWith('cpu-'))

test.each(loops('own'))(
  'own attack $name ends in a declared way, has only the declared effects, and does not affect its neighbour',
  checkOwn,
)

test.each(loops('scripts'))('attack $name ends in a declared way, and does not affect its neighbour', (attack) =>
  check(attack, ({ log }) => expect(log.length).toBeLessThanOrEqual(203)),
)
