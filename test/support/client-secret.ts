/** The secret of every client of the tests' providers. ASCII only, as `oidc-provider` requires. */
export const CLIENT_SECRET = 'secret-of-a-test-client-that-is-long-enough'
