/**
 * The tenants: where each one's users sign in, and who they are here. A real authenticator asks a database; this one has
 * its tables at hand, so that the example runs by itself. The providers are those that `npm run example:oauth` starts on
 * this machine. Their secrets are not in here: the operator sets NORTH_SECRET and SOUTH_SECRET, each for one host.
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
 * Called when somebody who is not signed in opens the solution: says at which provider they sign in.
 * `index.html?tenant=north` is one tenant's address; the parameters come from the address bar, so anything may stand there.
 */
function getOAuthConfig(queryParams) {
  const [first] = Object.values(queryParams)
  if (first === undefined) throw new Error('the address needs a tenant, such as index.html?tenant=north')
  if (!/^[A-Za-z0-9_-]+$/.test(first)) {
    throw new Error('the first parameter may have letters, digits, underscores and hyphens only')
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
 * Called when the provider has said who it is, and again when a remembered browser comes back. `last_login` holds claims
 * that the platform checked; whoever is found is logged in, everybody else gets a page that says so.
 *
 * The e-mail alone would be risky:
 * - Two providers can name the same e-mail, and only one of them speaks for its owner: an account at `south` with an
 *   address of `north` must not become somebody of `north`. So the tenant is the one whose provider it was (`iss`),
 *   never the parameter of the address, which anybody can change.
 * - A provider may let people type any address: only a verified one counts (`email_verified`).
 * - An address can be given to somebody else one day. Where that matters, store `iss` and `sub` at the first sign-in, when
 *   the user is found by e-mail, and find the user by these two from then on: they stay with one account for ever.
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

/** Only what the table itself holds, so that a tenant or a user named "constructor" is nobody. */
function own(table, key) {
  return typeof key === 'string' && Object.hasOwn(table, key) ? table[key] : undefined
}
