import { test } from 'vitest'
import { checkOwn, useLabs } from './attack-labs.ts'
import { readAttacks } from './attacks.ts'

// Scripts of our own that never come to an end; they say all that they may have done.

useLabs()

test.each(readAttacks('own').filter(({ name }) => name.startsWith('cpu-')))(
  'attack $name of our own ends as a sound sandbox ends it, does what it may, and its neighbour does not notice',
  checkOwn,
)
