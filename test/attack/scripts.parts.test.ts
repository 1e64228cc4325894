import { expect, test } from 'vitest'
import { check, useLabs } from './attack-labs.ts'
import { readAttacks } from './attacks.ts'

// Samples that somebody else wrote.

useLabs()

test.each(readAttacks('scripts'))(
  'attack $name ends as a sound sandbox ends it, and its neighbour does not notice',
  async (attack) => {
    await check(attack, ({ log }) => expect(log.length).toBeLessThanOrEqual(203))
  },
)
