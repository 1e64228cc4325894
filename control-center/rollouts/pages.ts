import type Router from '@koa/router'
import type { Context } from 'koa'
import { requireDataRequest } from '../../base/http/fetch-metadata.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { type Access, callerOf, type Member } from '../access/access.ts'
import { mayDo } from '../access/roles.ts'
import type { Environments } from '../environments/environments.ts'
import type { Packages } from '../packages/packages.ts'
import { type PageRouter, renderPart, type ShownPage } from '../pages/page.ts'
import { DEFAULT_PATIENCE, rolloutIn } from './api.ts'
import { MOVES, type Move, PACES, type RolloutState, type Rollouts } from './rollouts.ts'

export type RolloutPageParts = {
  readonly access: Access
  readonly environments: Environments
  readonly packages: Pick<Packages, 'list' | 'find'>
  readonly rollouts: Rollouts
}

/** Per package, in the list to choose from. */
const MOST_VERSIONS = 20

export function addRolloutPages(pages: PageRouter, router: Router, parts: RolloutPageParts): void {
  const { access, environments, packages, rollouts } = parts

  pages.ofOrganisation('/rollouts', 'read', async (ctx, text, { organisation, role }) => {
    const mayChange = mayDo(role, 'rollouts')
    const model = {
      organisation,
      items: await rollouts.list(organisation.id),
      mayChange,
      versions: mayChange ? await versionsOf(organisation.id) : [],
      chosen: String(ctx.query.version ?? ''),
      environments: (await environments.list(organisation.id)).map(({ name }) => name),
      paces: PACES,
      patience: DEFAULT_PATIENCE,
    }
    return { template: 'rollouts', heading: text('center.part.rollouts'), part: 'rollouts', model }
  })

  pages.ofOrganisation('/rollouts/:rollout', 'read', async (ctx, _text, member) => {
    return { template: 'rollout', ...(await partOf(ctx, member)) }
  })

  // The open page polls this.
  router.get('/o/:organisation/rollouts/:rollout/progress.json', async (ctx) => {
    requireDataRequest(ctx)
    if (callerOf(ctx)?.kind !== 'person') throw new PlatformError('ERR_UNAUTHENTICATED', 'Sign in first.')
    const member = await access.need(ctx, 'read')
    ctx.body = { html: renderPart(ctx, { template: 'rollout-progress', ...(await partOf(ctx, member)) }) }
  })

  async function partOf(ctx: Context, member: Member): Promise<Omit<ShownPage, 'template'>> {
    const rollout = await rollouts.need(member.organisation.id, rolloutIn(ctx))
    const { organisation, role } = member
    const may = mayDo(role, 'rollouts')
    const moves = (Object.keys(MOVES) as Move[]).filter(
      (move) => may && (MOVES[move] as readonly RolloutState[]).includes(rollout.state),
    )
    const model = { organisation, rollout, moves }
    return { heading: `${rollout.package} ${rollout.version}`, part: 'rollouts', model }
  }

  async function versionsOf(organisation: string) {
    const names = (await packages.list(organisation)).map(({ name }) => name)
    const found = await Promise.all(names.map((name) => packages.find(organisation, name)))
    return found.flatMap((one) =>
      (one?.versions ?? []).slice(0, MOST_VERSIONS).map(({ sha256, version }) => {
        return { value: `${one?.name}@${sha256}`, name: one?.name, version, sha256 }
      }),
    )
  }
}
