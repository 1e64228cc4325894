import { z } from '../../runtime/zod.ts'
import type { OAuthConfiguration } from './configuration.ts'
import { OAuthProblem, quote } from './problems.ts'
import { isTenantId } from './token-claims.ts'

/** Any value except a string is treated as absent. URLs are checked where they are used. */
const Address = z.string().min(1).max(2048).optional().catch(undefined)
const Names = z.array(z.string().max(100)).max(100).nullish()

const Document = z.object({
  issuer: z.string().min(1).max(2048),
  authorization_endpoint: Address,
  token_endpoint: Address,
  jwks_uri: Address,
  userinfo_endpoint: Address,
  revocation_endpoint: Address,
  end_session_endpoint: Address,
  id_token_signing_alg_values_supported: Names,
  token_endpoint_auth_methods_supported: Names,
  authorization_response_iss_parameter_supported: z.boolean().nullish(),
})

/** The parts of a discovery document that are used (OIDC Discovery section 3, RFC 8414, RFC 9207). */
export type DiscoveryDocument = z.infer<typeof Document>

/** @throws OAuthProblem `oauth_provider` */
export function readDiscoveryDocument(value: unknown, from: string): DiscoveryDocument {
  const read = Document.safeParse(value)
  if (read.success) return read.data
  const wrong = [...new Set(read.error.issues.map(({ path }) => `"${String(path[0])}"`))].join(', ')
  throw new OAuthProblem(
    'oauth_provider',
    `these values in the discovery document of ${from} are missing or have the wrong type: ${wrong}`,
  )
}

/** Returns `{issuer}/.well-known/openid-configuration`, without a double slash (OIDC Discovery section 4). */
export function discoveryAddress(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Microsoft's multi-tenant endpoints. `consumers` is a single tenant, whose GUID is in the table of providers. */
const SHARED_TENANT = /\/(?:common|organizations)\/v2\.0$/

/**
 * Returns the issuer of the provider's tokens. The document must contain exactly the issuer in the settings (OIDC
 * Discovery section 4.3), which shows that it is this issuer's document.
 *
 * There are two exceptions for Microsoft. For `common` and `organizations`, the document contains `{tenantid}` instead
 * of the tenant. For a tenant's domain, it contains the tenant's GUID.
 * @returns the issuer, with `{tenantid}` if the configuration's `issuerHasTenant` is true
 * @throws OAuthProblem `oauth_provider`
 */
export function issuerOf(
  configuration: Pick<OAuthConfiguration, 'api' | 'issuerHasTenant'> & { readonly issuer: string },
  named: string,
): string {
  const wanted = issuerOfTokens(configuration)
  if (named === wanted || (configuration.api === 'Microsoft' && isMicrosoftTenantOf(wanted, named))) return named
  throw new OAuthProblem(
    'oauth_provider',
    `the issuer in the discovery document must be exactly ${quote(wanted)}, but is ${quote(named)}`,
  )
}

/** Returns the issuer of tokens according to the settings. */
export function issuerOfTokens({
  issuer,
  issuerHasTenant,
}: {
  readonly issuer: string
  readonly issuerHasTenant: boolean
}): string {
  return issuerHasTenant ? issuer.replace(SHARED_TENANT, '/{tenantid}/v2.0') : issuer
}

/** Whether `named` equals `configured`, except that it has a GUID in place of the tenant's domain. */
function isMicrosoftTenantOf(configured: string, named: string): boolean {
  const [, place = '', tenant = ''] = /^(https?:\/\/[^/]+\/)([^/]+)\/v2\.0$/.exec(configured) ?? []
  const guid = named.slice(place.length, -'/v2.0'.length)
  return tenant.includes('.') && isTenantId(guid) && named === `${place}${guid}/v2.0`
}
