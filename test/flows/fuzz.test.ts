import { expect, test } from 'vitest'
import { fuzz } from '../support/fuzz.ts'
import { startFuzzTargets } from '../support/fuzz-targets.ts'

// The short version of `npm run long -- fuzz`. Set LONG_SEED to repeat a failed run.

const SEED = Number(process.env.LONG_SEED ?? Date.now() % 2 ** 31)

test(`malformed requests and frames do not crash or block any process (seed ${SEED})`, async () => {
  await using started = await startFuzzTargets()
  const { failures, requests, sockets, answered, upgraded } = await fuzz(started.targets, {
    seed: SEED,
    requests: 1600,
    sockets: 120,
  })
  expect(failures).toEqual([])
  expect([requests, sockets]).toEqual([1600, 120])
  // Checks that the servers received requests.
  expect([answered > 200, upgraded > 50]).toEqual([true, true])
}, 600_000)
