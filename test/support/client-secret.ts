/** The client secret of every OAuth client in the tests. ASCII only, as `oidc-provider` requires. */
export const CLIENT_SECRET = 'secret-of-a-test-client-that-is-long-enough'
