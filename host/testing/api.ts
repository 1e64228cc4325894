import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import type { Testing as TestingState } from './testing.ts'

export type TestingApiParts = {
  readonly testing: TestingState
  readonly jobs: { readonly worker: { readonly work: () => Promise<void> } }
}

/** The offset is at most a year, because no test needs a longer one. */
const Testing = z
  .strictObject({
    clockOffsetMs: z
      .int()
      .min(0)
      .max(366 * 86_400_000)
      .optional()
      .describe('how far the clock is set forward, in milliseconds'),
    throttles: z.boolean().optional().describe('whether sign-in attempts are limited'),
  })
  .meta({ id: 'Testing' })

/** Sets the clock and throttling for end-to-end tests. Responds with 404 outside testing mode. */
export function testingRoutes({ testing, jobs }: TestingApiParts): AdminRoute[] {
  function names() {
    if (!testing.isOn) throw new PlatformError('ERR_NOT_FOUND', 'Nothing exists at this URL. Check the URL.')
    return { target: 'clock and throttles' }
  }

  return [
    route(
      'POST /testing',
      {
        summary:
          'Set the host’s clock forward, or turn off the limit on sign-in attempts. Outside testing mode, the response is 404',
        right: null,
        act: 'testing',
        names,
        body: Testing,
        answers: { 200: Testing },
      },
      async ({ body: { clockOffsetMs, throttles } }) => {
        // Run the jobs that are due before and after the change. Otherwise, tests would have to wait for the next
        // regular check.
        if (clockOffsetMs !== undefined) await jobs.worker.work()
        testing.set({
          ...(clockOffsetMs === undefined ? {} : { clockOffsetMs }),
          ...(throttles === undefined ? {} : { throttles }),
        })
        if (clockOffsetMs !== undefined) await jobs.worker.work()
        return testing.state()
      },
    ),
  ]
}
