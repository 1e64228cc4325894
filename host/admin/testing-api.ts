import type Router from '@koa/router'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../audit/audit.ts'
import type { Testing } from '../testing/testing.ts'
import { TestingForm } from './access-openapi.ts'
import { needScope } from './actor.ts'
import { audited } from './audited.ts'

export type TestingApiParts = { readonly testing: Testing; readonly audit: Audit; readonly limits: Limits }

/** Clock and throttles for end-to-end tests: in testing mode only, elsewhere there is nothing at the address. */
export function addTestingRoutes(router: Router, { testing, audit, limits }: TestingApiParts): void {
  router.post('/testing', async (ctx) => {
    if (!testing.isOn) throw new PlatformError('ERR_NOT_FOUND', 'There is nothing at this address.')
    ctx.body = await audited(ctx, audit, 'testing', { target: 'clock and throttles' }, async () => {
      needScope(ctx, null, 'write')
      const { clockOffsetMs, throttles } = readWith(TestingForm, await readJson(ctx, limits))
      testing.set({
        ...(clockOffsetMs === undefined ? {} : { clockOffsetMs }),
        ...(throttles === undefined ? {} : { throttles }),
      })
      return testing.state()
    })
    ctx.status = 200
  })
}
