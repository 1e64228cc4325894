/**
 * The users of each tenant. A real authenticator would query a database. This one has its table in the script, so that
 * the example needs no setup.
 */
const TENANTS = {
  acme: {
    locale: ['en', 'US'],
    users: {
      anna: { uid: 'a-1', password: 'anna-tries-acme', permissions: ['Users', 'Administrators'] },
      arjun: { uid: 'a-2', password: 'arjun-tries-acme', permissions: ['Users'] },
    },
  },
  'van-dijk': {
    locale: ['nl', 'BE'],
    users: {
      bram: { uid: 'v-1', password: 'bram-tries-van-dijk', permissions: ['Users', 'Planners'] },
    },
  },
}

const TENANT_PATTERN = /^[A-Za-z0-9_-]{1,50}$/
const SEVEN_DAYS = 7 * 24 * 60 * 60 * 1000

/**
 * Called for each login attempt. Known users are signed in with permissions, tenant and locale. Everyone else gets the
 * login page again, with a message in their language.
 */
function onSolutionOpen(arg, queryParams) {
  const name = queryParams.custom_tenant
  if (!name) return refuse('tenant.error.missing')
  if (!TENANT_PATTERN.test(name)) return refuse('tenant.error.pattern')
  const tenant = own(TENANTS, name)
  const user = tenant && own(tenant.users, queryParams.username)
  if (!user) return refuse('tenant.error.wrong')
  const known = queryParams.last_login ? isRecent(queryParams.last_login, user) : queryParams.password === user.password
  if (!known) return refuse('tenant.error.wrong')
  security.login(queryParams.username, user.uid, user.permissions)
  security.setTenantValue([name, -1])
  i18n.setLocale(tenant.locale[0], tenant.locale[1])
}

/** `last` is a remembered browser's last sign-in. It is accepted for seven days, and only for the same user. */
function isRecent(last, user) {
  return last.uid === user.uid && Date.now() - last.last_login <= SEVEN_DAYS
}

/** The page shows the key's text in place of %%errorMessage%%. */
function refuse(key) {
  return JSON.stringify({ errorMessage: `i18n:${key}` })
}

/** Ignores inherited properties, so that "constructor" is neither a tenant nor a user. */
function own(table, key) {
  return typeof key === 'string' && Object.hasOwn(table, key) ? table[key] : undefined
}
