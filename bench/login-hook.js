// Measurement W1: a login hook of a typical size, about 60 lines. Every platform in the comparison runs it unchanged.
const TENANTS = {
  acme: { locale: ['en', 'US'], roles: { anna: ['Users', 'Administrators'], arjun: ['Users'] } },
  'van-dijk': { locale: ['nl', 'BE'], roles: { bram: ['Users', 'Planners'] } },
}

const PASSWORDS = new Map([
  ['acme/anna', 'anna-tries-acme'],
  ['acme/arjun', 'arjun-tries-acme'],
  ['van-dijk/bram', 'bram-tries-van-dijk'],
])

const SEVEN_DAYS = 7 * 24 * 60 * 60 * 1000

class Refusal extends Error {
  constructor(key) {
    super(key)
    this.key = key
  }
}

function readTenant(queryParams) {
  const name = queryParams.custom_tenant
  if (!name) throw new Refusal('missing')
  if (!/^[A-Za-z0-9_-]{1,50}$/.test(name)) throw new Refusal('pattern')
  const tenant = Object.hasOwn(TENANTS, name) ? TENANTS[name] : undefined
  if (!tenant) throw new Refusal('wrong')
  return { name, ...tenant }
}

function isKnown(tenant, queryParams) {
  const last = queryParams.last_login
  if (last) return Date.now() - last.last_login <= SEVEN_DAYS
  return PASSWORDS.get(`${tenant.name}/${queryParams.username}`) === queryParams.password
}

function permissionsOf(tenant, username) {
  return (tenant.roles[username] ?? [])
    .map((role) => role.trim())
    .filter((role, index, all) => all.indexOf(role) === index)
    .sort()
}

function onSolutionOpen(arg, queryParams) {
  try {
    const tenant = readTenant(queryParams)
    if (!isKnown(tenant, queryParams)) throw new Refusal('wrong')
    const permissions = permissionsOf(tenant, queryParams.username)
    if (!security.login(queryParams.username, `${tenant.name}-${queryParams.username}`, permissions))
      throw new Refusal('none')
    security.setTenantValue([tenant.name, -1])
    i18n.setLocale(...tenant.locale)
    return JSON.stringify({ welcome: `Welcome, ${queryParams.username}` })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return JSON.stringify({ errorMessage: `i18n:tenant.error.${error.key}` })
  }
}
