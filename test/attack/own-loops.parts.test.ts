import { test } from 'vitest'
import { checkOwn, useLabs } from './attack-labs.ts'
import { readAttacks } from './attacks.ts'

// The project's own scripts that never end; they declare everything that they may have done.

useLabs()

test.each(readAttacks('own').filter(({ name }) => name.startsWith('cpu-')))(
  'own attack $name ends as it should, does only what is allowed, and does not affect its neighbour',
  checkOwn,
)
