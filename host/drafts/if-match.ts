import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import type { ExpectedFile } from './draft-files.ts'

/** The request headers for file changes, as described in the API documentation. */
export const IF_MATCH = { 'If-Match': 'the `etag` of the file that you read, in double quotes' } as const
export const IF_NONE_MATCH = { 'If-None-Match': '`*` if the file does not exist yet' } as const

/**
 * Returns the etag of the file's content when the author read it (RFC 9110, section 13.1); null if they expect that the
 * file doesn't exist.
 * @throws ERR_IF_MATCH_MISSING, ERR_BAD_REQUEST
 */
export function expectedFile(ctx: Context): ExpectedFile {
  const [match, noneMatch] = [ctx.get('If-Match'), ctx.get('If-None-Match')]
  if (match !== '') return readEtag(match)
  if (noneMatch === '*') return null
  if (noneMatch !== '') throw new PlatformError('ERR_BAD_REQUEST', 'The If-None-Match header must be *.')
  throw new PlatformError(
    'ERR_IF_MATCH_MISSING',
    'The request has no If-Match header. Set it to the ETag of the file that you read. For a new file, send If-None-Match: * instead.',
  )
}

/** Like `expectedFile`, for a file that must exist. @throws ERR_IF_MATCH_MISSING, ERR_BAD_REQUEST */
export function expectedContent(ctx: Context): string {
  const match = ctx.get('If-Match')
  if (match !== '') return readEtag(match)
  throw new PlatformError(
    'ERR_IF_MATCH_MISSING',
    'The request has no If-Match header. Set it to the ETag of the file that you read.',
  )
}

/** Whether the client already has the content with this etag. */
export function isKnown(ctx: Context, etag: string): boolean {
  return ctx.get('If-None-Match') === `"${etag}"`
}

function readEtag(header: string): string {
  const etag = /^"([\w-]{1,100})"$/.exec(header)?.[1]
  if (etag !== undefined) return etag
  throw new PlatformError('ERR_BAD_REQUEST', 'The If-Match header must be the ETag of a file, in double quotes.')
}
