import { factorAccount } from '../../base/accounts/factor-account.ts'
import type { Factors } from '../../base/accounts/factors.ts'
import type { User, Users } from '../../base/accounts/users.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { OperatorLinks } from '../links/send-links.ts'
import type { PageRouter } from '../pages/page.ts'
import { addressWith, queryText } from '../pages/page-query.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { knownPermissions } from './known-permissions.ts'

export type UserPageParts = {
  readonly users: Users
  readonly factors: Factors
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly operatorLinks: OperatorLinks
  readonly limits: Limits
}

const PAGE = 50
/** Maximum permissions shown per user in the list. */
const SHOWN_PERMISSIONS = 4

/** Pages for the platform's users table, whose users sign in to solutions that have the authenticator `DEFAULT`. */
export function addUserPages(pages: PageRouter, parts: UserPageParts): void {
  const { users, factors, store, catalog, operatorLinks, limits } = parts
  const forForms = async () => ({
    known: await knownPermissions(store, catalog),
    leastLength: limits.PASSWORD_LENGTH,
    linkSolutions: await operatorLinks.solutions(),
    isMailing: operatorLinks.isMailing,
  })

  pages.get('/users', async (ctx, text) => {
    const search = queryText(ctx, 'search')
    const after = queryText(ctx, 'after')
    const { items, next } = await users.list({ limit: PAGE, search, ...(after === '' ? {} : { after }) })
    const model = {
      search,
      users: items.map(listed),
      firstHref: after === '' ? null : addressWith('/admin/users', { search }),
      nextHref: next === undefined ? null : addressWith('/admin/users', { search, after: next }),
    }
    return { template: 'users', heading: text('admin.part.users'), part: 'users', model }
  })

  pages.get('/users/new', async (_ctx, text) => {
    const model = { ...(await forForms()), user: null }
    return { template: 'user-new', heading: text('admin.users.new'), part: 'users', model }
  })

  pages.get('/users/import', async (_ctx, text) => {
    return { template: 'users-import', heading: text('admin.users.import'), part: 'users', model: {} }
  })

  pages.get('/users/:uid', async (ctx) => {
    const { uid = '' } = ctx.params as { uid?: string }
    const user = await users.get(uid.slice(0, 200))
    if (user === null) throw new PlatformError('ERR_NOT_FOUND', 'This user does not exist or was deleted.')
    const model = {
      ...(await forForms()),
      user: { ...user, permissions: user.permissions.map(permissionPair), stateKey: stateKey(user) },
      secondStep: await factors.of(factorAccount('users', '', user.uid)),
      path: `/admin/api/users/${encodeURIComponent(user.uid)}`,
      sessionsHref: addressWith('/admin/sessions', { username: user.username }),
      auditHref: addressWith('/admin/audit', { actor: `user:${user.username}` }),
    }
    return { template: 'user', heading: user.username, part: 'users', model }
  })
}

function listed(user: User) {
  const names = user.permissions.map(permissionPair)
  return {
    ...user,
    stateKey: stateKey(user),
    permissions: names.slice(0, SHOWN_PERMISSIONS),
    morePermissions: Math.max(0, names.length - SHOWN_PERMISSIONS),
  }
}

/** `solution` is '' if the permission applies to all solutions. */
function permissionPair(permission: User['permissions'][number]) {
  return typeof permission === 'string' ? { name: permission, solution: '' } : permission
}

function stateKey({ enabled, mustChangePassword, passwordChangedAt, directory }: User) {
  if (!enabled) return 'disabled'
  if (passwordChangedAt === null && directory === null) return 'nopassword'
  return mustChangePassword ? 'mustchange' : 'enabled'
}
