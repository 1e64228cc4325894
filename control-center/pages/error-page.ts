import type { Context } from 'koa'
import { type ErrorModel, errorPage } from '../../base/web/pages.ts'
import type { PageFrame } from '../../base/web/render-page.ts'
import { callerOf, memberOf } from '../access/access.ts'
import { htmlOf, textFor } from './page.ts'

/** An error page. Users who are signed in still get the header and, within an organisation, the navigation. */
export function centerErrorPage(ctx: Context, frame: PageFrame, model: ErrorModel): string {
  if (callerOf(ctx)?.kind !== 'person') return errorPage(frame, model)
  const heading = textFor(ctx)(`platform.error.${model.kind}.title`)
  return htmlOf(ctx, { template: 'error', heading, model }, memberOf(ctx), frame.nonce)
}
