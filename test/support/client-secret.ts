/**
 * The client secret of all OAuth clients in the tests. `oidc-provider` requires that it contains only ASCII characters.
 */
export const CLIENT_SECRET = 'secret-of-a-test-client-that-is-long-enough'
