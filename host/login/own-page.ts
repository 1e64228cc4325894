import { sourceOfPost } from '../../base/http/fetch-metadata.ts'
import type { Arrival } from './arrival.ts'
import type { FormTokens } from './form-token.ts'

/** The CSRF token is always required. If the browser also sends the form's origin, it must be this one. */
export function cameFromOwnPage(
  { ctx, scope, serverUrl }: Arrival,
  fields: ReadonlyMap<string, string>,
  formTokens: FormTokens,
): boolean {
  if (sourceOfPost(ctx, serverUrl) === 'foreign') return false
  return formTokens.check(ctx, scope, fields.get('csrf_token'))
}
