import type { FormTokens } from '../../base/accounts/form-token.ts'
import { sourceOfPost } from '../../base/http/fetch-metadata.ts'
import { readForm } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Arrival } from './arrival.ts'

/**
 * Whether a form came from one of the platform's own pages. Its CSRF token must be valid. If the browser also sends the
 * form's origin, it must be the same as that of `serverUrl`.
 */
export function cameFromOwnPage(
  { ctx, scope, serverUrl }: Pick<Arrival, 'ctx' | 'scope' | 'serverUrl'>,
  fields: ReadonlyMap<string, string>,
  formTokens: FormTokens,
): boolean {
  if (sourceOfPost(ctx, serverUrl) === 'foreign') return false
  return formTokens.check(ctx, scope, fields.get('csrf_token'))
}

/**
 * Reads a form from one of the platform's pages.
 * @throws ERR_FOREIGN_ORIGIN if the form came from elsewhere, or is too old
 */
export async function readPlatformForm(
  from: Pick<Arrival, 'ctx' | 'scope' | 'serverUrl'>,
  { formTokens, limits }: { readonly formTokens: FormTokens; readonly limits: Limits },
): Promise<ReadonlyMap<string, string>> {
  const fields = await readForm(from.ctx, limits)
  if (cameFromOwnPage(from, fields, formTokens)) return fields
  throw new PlatformError('ERR_FOREIGN_ORIGIN', 'This form has expired or came from another site. Open the page again.')
}
