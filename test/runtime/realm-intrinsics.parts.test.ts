import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createScriptLab, type ScriptLab } from '../support/solutions.ts'

// Some built-in objects are not properties of other objects, and a newer V8 may add more of them. To find them, this
// test calls every built-in function with many arguments. It then checks the prototypes and accessors of all returned
// and thrown values.

const WALK = readFileSync(new URL('realm/walk-intrinsics.js', import.meta.url), 'utf8')

let lab: ScriptLab

beforeAll(() => {
  lab = createScriptLab({ manifest: { realm: 'hardened' }, limits: { AUTHENTICATOR_TIME: 240_000 } })
})

afterAll(() => lab.stop())

test('every built-in object that a script can get in the hardened realm is frozen', { timeout: 480_000 }, async () => {
  await lab.run({ script: WALK })
  const { failure, values } = await lab.run({ script: WALK })
  expect(failure).toBeNull()
  expect(values.marked).toEqual([])
  expect(values.frozen).toBeGreaterThan(900)
  expect(values.kinds).toBeGreaterThan(40)
})
