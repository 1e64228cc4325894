import { sourceOfPost } from '../../base/http/fetch-metadata.ts'
import type { Arrival } from './arrival.ts'
import type { FormTokens } from './form-token.ts'

/** The hidden token is always needed; where the browser says where the form came from, that must be here. */
export function cameFromOwnPage(
  { ctx, scope, serverUrl }: Arrival,
  fields: ReadonlyMap<string, string>,
  formTokens: FormTokens,
): boolean {
  if (sourceOfPost(ctx, serverUrl) === 'foreign') return false
  return formTokens.check(ctx, scope, fields.get('csrf_token'))
}
