import { expect, test } from 'vitest'
import { check, checkOwn, useLabs } from './attack-labs.ts'
import { readAttacks } from './attacks.ts'

// Runs all attack scripts again in the hardened realm, except those that never end (see hardened-loops.parts.test.ts).
// Their logins share one context. The realm may also refuse a script's action.

useLabs('hardened')

test.each(readAttacks('own').filter(({ name }) => !name.startsWith('cpu-')))(
  'our attack $name has only the outcome and effects that it declares, and does not affect another solution',
  checkOwn,
)

test.each(readAttacks('scripts').filter(({ name }) => !name.startsWith('cpu-')))(
  'attack $name has an outcome that it declares, and does not affect another solution',
  async (attack) => {
    await check(attack, ({ log }) => expect(log.length).toBeLessThanOrEqual(203))
  },
)
