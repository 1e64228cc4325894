import type { Context } from 'koa'
import { type ErrorModel, errorPage } from '../../base/web/pages.ts'
import type { PageFrame } from '../../base/web/render-page.ts'
import { askerOf, memberOf } from '../access/access.ts'
import { htmlOf, textFor } from './page.ts'

/** An error for a person. Who is signed in keeps the header, and in an organisation its navigation, to go on from there. */
export function centerErrorPage(ctx: Context, frame: PageFrame, model: ErrorModel): string {
  if (askerOf(ctx)?.kind !== 'person') return errorPage(frame, model)
  const heading = textFor(ctx)(`platform.error.${model.kind}.title`)
  return htmlOf(ctx, { template: 'error', heading, model }, memberOf(ctx), frame.nonce)
}
