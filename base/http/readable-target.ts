import type { Middleware } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import { sendProblem } from './answer-errors.ts'

/**
 * Rejects a request target that can't be parsed, as in `GET http://[x/ HTTP/1.1`, because later steps read its path.
 */
export const needReadableTarget: Middleware = (ctx, next) => {
  try {
    void ctx.path
  } catch {
    sendProblem(ctx, new PlatformError('ERR_BAD_REQUEST', 'The request’s URL is not valid. Correct the URL.'))
    return
  }
  return next()
}
