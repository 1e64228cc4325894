import { expect, test } from 'vitest'
import { check, useLabs } from './attack-labs.ts'
import { readAttacks } from './attacks.ts'

// Runs attack scripts by an independent author.

useLabs()

test.each(readAttacks('scripts'))(
  'attack $name has an outcome that it declares, and does not affect another solution',
  async (attack) => {
    await check(attack, ({ log }) => expect(log.length).toBeLessThanOrEqual(203))
  },
)
