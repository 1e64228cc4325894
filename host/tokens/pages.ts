import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { adminOrigin } from '../access/admit-page-session.ts'
import type { ApiToken, ApiTokens } from '../access/api-tokens.ts'
import type { Settings } from '../config/settings.ts'
import type { PageRouter } from '../pages/page.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

export type TokenPageParts = {
  readonly tokens: ApiTokens
  readonly store: SolutionStore
  readonly settings: Pick<Settings, 'publicUrl'>
  readonly sites: Pick<Sites, 'originForAdmin'>
}

/** Scopes that a token can have besides single solutions, with their kinds of access. */
const SUBJECTS = {
  'solutions:*': ['read', 'write'],
  users: ['read', 'write'],
  sessions: ['read', 'write'],
  audit: ['read'],
  maintenance: ['read', 'write'],
  health: ['read'],
} as const

export function addTokenPages(pages: PageRouter, { tokens, store, settings, sites }: TokenPageParts): void {
  const solutionNames = async () => (await store.list()).map(({ name }) => name)

  pages.get('/tokens', async (_ctx, text) => {
    const now = Date.now()
    const model = { tokens: (await tokens.list()).map((token) => ({ ...token, isExpired: isExpired(token, now) })) }
    return { template: 'tokens', heading: text('admin.part.tokens'), part: 'tokens', model }
  })

  pages.get('/tokens/new', async (ctx, text) => {
    const model = {
      solutions: await solutionNames(),
      subjects: Object.entries(SUBJECTS),
      /**
       * The API's URL, for use in tools. The admin port serves the API too, but is rarely reachable from other
       * machines.
       */
      address: settings.publicUrl?.origin ?? adminOrigin(ctx),
      /** The URL of a solution's endpoints. The page's script replaces `{name}` with the solution's name. */
      endpoints: `${sites.originForAdmin('{name}', stateOf(ctx).client)}/solution/{name}/api/`,
    }
    return { template: 'token-new', heading: text('admin.tokens.new'), part: 'tokens', model }
  })
}

function isExpired({ expiresAt }: ApiToken, now: number): boolean {
  return expiresAt !== null && expiresAt <= now
}
