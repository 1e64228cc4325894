import type { Context } from 'koa'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { CookieScope } from '../../base/http/cookies.ts'
import { readQuery } from '../../base/http/read-body.ts'
import { cookieScope, stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'

/** A sign-in request, with the data that the browser sent and the browser's IP address. */
export type Asking = {
  readonly solution: ActiveSolution
  readonly locale: string
  readonly url: ReadonlyMap<string, string>
  readonly correlationId: string
  readonly serverUrl: string
  /** The browser's IP address. */
  readonly address: string
}

/** `Asking`, with access to the browser's cookies. */
export type Arrival = Asking & { readonly ctx: Context; readonly scope: CookieScope }

export function readArrival(ctx: Context, solution: ActiveSolution, locale: string, sites: Sites): Arrival {
  const { correlationId, client } = stateOf(ctx)
  return {
    ctx,
    solution,
    locale,
    url: readQuery(ctx),
    scope: cookieScope(ctx, sites, solution.name),
    correlationId,
    address: client.address,
    serverUrl: sites.originOf(solution.name, client),
  }
}
