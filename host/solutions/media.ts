import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { allowMedia } from '../../base/http/content-security.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { SolutionStore } from './solution-store.ts'

/** Content types of files that can run scripts when a browser opens them as a page. */
const ACTIVE_TYPES = /^(text\/html|application\/xhtml\+xml|image\/svg\+xml|text\/xml|application\/xml|[^;]+\+xml)(;|$)/
const PAGE_TYPES = /^(text\/html|application\/xhtml\+xml)(;|$)/

/**
 * Sends a media file of the active version. Media is public, even before sign-in.
 * @throws ERR_NOT_FOUND
 */
export async function sendMedia(
  ctx: Context,
  solution: ActiveSolution,
  path: string,
  store: SolutionStore,
): Promise<void> {
  const file = await store.media(solution.name, solution.facts.sha256, path)
  if (file === null)
    throw new PlatformError(
      'ERR_NOT_FOUND',
      `The solution "${solution.name}" has no media file "${path.slice(0, 200)}".`,
    )
  startMedia(ctx, path, file.etag)
  if (ctx.fresh) {
    ctx.status = 304
    return
  }
  // A response to HEAD has a length but no body, so don't read the content.
  ctx.length = file.size
  if (ctx.method === 'HEAD') return
  const pieces = store.mediaContent(solution.name, solution.facts.sha256, path, file.size)
  const content = Readable.from(pieces, { objectMode: true, highWaterMark: 1 })
  // Wait for the first piece, because its errors can still be reported with an error status.
  await once(content, 'readable')
  ctx.body = content
}

/** Sends the content of a media file that is in memory. */
export function sendMediaContent(
  ctx: Context,
  path: string,
  { etag, content }: { readonly etag: string; readonly content: Uint8Array },
): void {
  startMedia(ctx, path, etag)
  if (ctx.fresh) ctx.status = 304
  else ctx.body = Buffer.from(content)
}

function startMedia(ctx: Context, path: string, etag: string): void {
  ctx.status = 200
  ctx.type = /\.[A-Za-z0-9]+$/.exec(path)?.[0] ?? 'application/octet-stream'
  if (ctx.type === '') ctx.type = 'application/octet-stream'
  if (PAGE_TYPES.test(ctx.type)) requireNavigation(ctx)
  allowMedia(ctx, ACTIVE_TYPES.test(ctx.type))
  ctx.etag = etag
}
