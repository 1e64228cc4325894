/**
 * The tenants, their identity providers and their users. A real authenticator would query a database. This one has its
 * tables in the script, so that the example needs no setup. `npm run example:oauth` starts the providers on this
 * machine. Their secrets are not in the script: the operator sets NORTH_SECRET and SOUTH_SECRET, and allows each to be
 * sent only to its provider's host.
 */
const TENANTS = {
  north: {
    locale: ['en', 'GB'],
    provider: { issuer: 'http://127.0.0.1:4410', apiSecret: '%%NORTH_SECRET%%' },
    users: {
      'anna@north.example': { uid: 'n-1', permissions: ['Users', 'Administrators'] },
      'noor@north.example': { uid: 'n-2', permissions: ['Users'] },
    },
  },
  south: {
    locale: ['nl', 'BE'],
    provider: { issuer: 'http://127.0.0.1:4420', apiSecret: '%%SOUTH_SECRET%%' },
    users: {
      'bram@south.example': { uid: 's-1', permissions: ['Users', 'Planners'] },
    },
  },
}

/**
 * Called when a user who is not signed in opens the solution. Returns the provider where they sign in.
 * `index.html?tenant=north` is one tenant's URL. Users can put any parameters into the URL, so check them.
 */
function getOAuthConfig(queryParams) {
  const [first] = Object.values(queryParams)
  if (first === undefined) throw new Error('the URL must contain a tenant, such as index.html?tenant=north')
  if (!/^[A-Za-z0-9_-]+$/.test(first)) {
    throw new Error('the first parameter can contain only letters, digits, underscores and hyphens')
  }
  const tenant = own(TENANTS, queryParams.tenant)
  if (!tenant) return null
  return {
    api: 'Custom',
    issuer: tenant.provider.issuer,
    clientId: 'many-providers',
    apiSecret: tenant.provider.apiSecret,
    defaultScope: 'openid email profile',
    code_challenge_method: 'S256',
  }
}

/**
 * Called after the user signed in at the provider, and again when a remembered browser returns. The platform has
 * verified the claims in `last_login`. Known users are signed in; everyone else gets an error page.
 *
 * The email address alone is not enough to identify a user:
 * - Two providers can send the same email address, but only one of them is the authority for that address. An account
 *   at `south` with a `north` address must not sign in to `north`. The provider (`iss`) therefore determines the
 *   tenant, never the URL parameter, which anyone can change.
 * - Some providers let users enter any email address. Accept only verified ones (`email_verified`).
 * - An email address can be reassigned to another person. If that matters, store `iss` and `sub` when the user first
 *   signs in with their email address, and use these two to find the user from then on. They never change for an
 *   account.
 */
function onSolutionOpen(arg, queryParams) {
  const login = queryParams.last_login
  if (login?.email_verified !== true) return
  const name = Object.keys(TENANTS).find((key) => TENANTS[key].provider.issuer === login.iss)
  if (!name) return
  const email = String(login.email).toLowerCase()
  const user = own(TENANTS[name].users, email)
  if (!user) return
  security.login(email, user.uid, user.permissions)
  security.setTenantValue([name, -1])
  i18n.setLocale(TENANTS[name].locale[0], TENANTS[name].locale[1])
}

/** Ignores inherited properties, so that "constructor" is neither a tenant nor a user. */
function own(table, key) {
  return typeof key === 'string' && Object.hasOwn(table, key) ? table[key] : undefined
}
