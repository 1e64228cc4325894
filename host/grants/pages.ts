import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { endpointsOf } from '../../base/bundles/endpoint-table.ts'
import { secretNameOf } from '../../base/oauth/secret-name.ts'
import type { PageRouter } from '../pages/page.ts'
import type { ListedSecret, Secrets } from '../secrets/secrets.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { type SolutionHeadParts, solutionOf } from '../solutions/page-head.ts'
import { type Asked, type PlatformPlace, requestsOf, warnOfGrants } from './grant-warnings.ts'
import type { GrantStore, ShownGrants } from './grants.ts'

export type SolutionAccessPageParts = SolutionHeadParts & {
  readonly catalog: Catalog
  readonly grants: GrantStore
  readonly secrets: Secrets
  readonly platformDatabase: PlatformPlace
}

/**
 * The page that shows a solution's requests, grants, sign-in policy and secrets.
 * @param signInCard returns the data for the card that shows the sign-in policy; null if there is no card
 */
export function addSolutionAccessPages(
  pages: PageRouter,
  parts: SolutionAccessPageParts,
  signInCard: (name: string, active: ActiveSolution | null) => Promise<object | null>,
): void {
  const { catalog, grants, secrets, platformDatabase } = parts

  pages.get('/solutions/:name/access', async (ctx, text) => {
    const solution = await solutionOf(ctx, parts)
    const { name, title } = solution
    const active = await catalog.active(name)
    const asked = requestsOf(
      active === null ? [] : [...active.modules.map(({ manifest }) => manifest), active.manifest],
    )
    const granted = await grants.show(name)
    const model = {
      solution,
      databases: databaseRows(asked, granted, platformDatabase),
      hosts: hostRows(asked, granted),
      users: granted.users,
      warnings: warnOfGrants(granted, asked, platformDatabase),
      signIn: await signInCard(name, active),
      secrets: secretRows(active, await secrets.list(name)),
    }
    const heading = `${text('admin.tab.access')} · ${title}`
    return { template: 'solution-access', heading, part: 'solutions', model }
  })
}

/**
 * Returns the databases by name, requested ones first. `needsGrant` is false for the solution's own database in this
 * host. `needsAccount` is true for databases on the platform's server, where a grant needs a separate account.
 */
function databaseRows(asked: Asked, granted: ShownGrants, platform: PlatformPlace) {
  const names = new Set([...Object.keys(asked.databases), ...Object.keys(granted.databases)])
  return [...names].map((name) => {
    const wanted = asked.databases[name]
    return {
      name,
      asked: wanted === undefined ? null : { server: wanted.server, database: wanted.database ?? name },
      granted: granted.databases[name] ?? null,
      needsGrant: wanted === undefined || wanted.server !== 'embedded',
      needsAccount: wanted?.server === platform.server,
    }
  })
}

function hostRows(asked: Asked, granted: ShownGrants) {
  const hosts = new Set([...asked.http, ...granted.http])
  return [...hosts].map((host) => {
    return { host, isAsked: asked.http.includes(host), isGranted: granted.http.includes(host) }
  })
}

/** Returns all secrets. Secrets that the manifest names but nobody has set are first; their `hosts` is null. */
function secretRows(active: ActiveSolution | null, listed: readonly ListedSecret[]) {
  const ofProvider = secretNameOf(active?.manifest.oauth?.apiSecret ?? '')
  const ofSignatures =
    active === null ? [] : endpointsOf(active).map((one) => one.declaration.signature?.secret ?? null)
  const named = new Set([ofProvider, ...ofSignatures].filter((name) => name !== null))
  const missing = [...named].filter((name) => !listed.some((one) => one.name === name))
  return [...missing.map((name) => ({ name, hosts: null })), ...listed]
}
