import { test } from 'vitest'
import { checkOwn, useLabs } from './attack-labs.ts'
import { readAttacks } from './attacks.ts'

// Runs the project's own attack scripts, except those in own-loops.parts.test.ts. Their first lines declare all their
// permitted effects.

useLabs()

test.each(readAttacks('own').filter(({ name }) => !name.startsWith('cpu-')))(
  'our attack $name has only the outcome and effects that it declares, and does not affect another solution',
  checkOwn,
)
