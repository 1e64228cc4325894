import { randomUUID } from 'node:crypto'
import type { Middleware } from 'koa'
import { allowPage } from '../../base/http/content-security.ts'
import { isNavigation, requireDataRequest } from '../../base/http/fetch-metadata.ts'
import { createNonce, sendHtml } from '../../base/http/request.ts'
import type { DevReport } from '../web/frames.ts'
import { firstRefusalPage } from '../web/pages.ts'
import type { Catalog } from './catalog.ts'

/** Stores the errors that `solhost dev` shows while a solution has no valid version and therefore no page. */
export interface FirstRefusal {
  /** @param report null if a version is active */
  set(report: DevReport | null): void
  current(): { readonly report: DevReport; readonly state: string } | null
}

const STATE_PATH = '/dev-state'

export function createFirstRefusal(): FirstRefusal {
  let current: ReturnType<FirstRefusal['current']> = null
  return {
    set(report) {
      current = report === null ? null : { report, state: randomUUID() }
    },
    current: () => current,
  }
}

/** In `solhost dev`, shows the errors at `/` and at the URL of a solution without a version. */
export function showFirstRefusal(refusal: FirstRefusal, catalog: Pick<Catalog, 'active'>): Middleware {
  return async (ctx, next) => {
    const refused = refusal.current()
    if (refused === null || ctx.method !== 'GET') return next()
    const { report, state } = refused
    if (ctx.path === STATE_PATH) {
      requireDataRequest(ctx)
      ctx.type = 'text/plain; charset=utf-8'
      ctx.body = state
      return
    }
    const [isPage, name] = /^\/(?:solution\/([^/]+)\/(?:index\.html)?)?$/.exec(ctx.path) ?? []
    if (isPage === undefined || !isNavigation(ctx)) return next()
    if (name !== undefined && (await catalog.active(name)) !== null) return next()
    const nonce = createNonce()
    allowPage(ctx, nonce)
    sendHtml(ctx, 404, firstRefusalPage(nonce, { faults: report.faults, state, statePath: STATE_PATH }))
  }
}
