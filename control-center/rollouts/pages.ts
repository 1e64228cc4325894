import type Router from '@koa/router'
import type { Context } from 'koa'
import { requireDataRequest } from '../../base/http/fetch-metadata.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { type Access, callerOf, type Member } from '../access/access.ts'
import { mayDo } from '../access/roles.ts'
import type { DesiredStates } from '../desired/desired.ts'
import type { Environments } from '../environments/environments.ts'
import type { Packages } from '../packages/packages.ts'
import { type PageRouter, type PageText, renderPart, type ShownPage } from '../pages/page.ts'
import type { Reports } from '../satellites/reports.ts'
import { DEFAULT_PATIENCE, rolloutIn, versionOf } from './api.ts'
import { type ChangeParts, changesOf, type EnvironmentBefore } from './changes.ts'
import { MOVES, type Move, PACES, type Rollout, type RolloutState, type Rollouts } from './rollouts.ts'
import { type TargetQuery, targetsIn } from './targets.ts'
import { versionBefore } from './version-before.ts'

export type RolloutPageParts = ChangeParts & {
  readonly access: Access
  readonly environments: Environments
  readonly packages: Pick<Packages, 'list' | 'find' | 'findVersion' | 'bundle'>
  readonly desiredStates: DesiredStates
  readonly reports: Pick<Reports, 'live'>
  readonly rollouts: Rollouts
}

/** Maximum versions per package in the list to choose from. */
const MOST_VERSIONS = 20

export function addRolloutPages(pages: PageRouter, router: Router, parts: RolloutPageParts): void {
  const { access, environments, packages, desiredStates, rollouts } = parts

  pages.ofOrganisation('/rollouts', 'read', async (_ctx, text, { organisation, role }) => {
    const model = {
      organisation,
      items: await rollouts.list(organisation.id),
      mayChange: mayDo(role, 'rollouts'),
      environments: (await environments.list(organisation.id)).map(({ name }) => name),
    }
    return { template: 'rollouts', heading: text('center.part.rollouts'), part: 'rollouts', model }
  })

  pages.ofOrganisation('/rollouts/new', 'rollouts', (ctx, text, member) => choicePage(ctx, text, member, null))

  // The selection is in the URL, so that users can go back in the browser and change it.
  pages.ofOrganisation('/rollouts/review', 'rollouts', async (ctx, text, member) => {
    const { organisation } = member
    const asked = versionOf(oneOf(ctx.query.version))
    const version = await packages.findVersion(organisation.id, asked.package, asked.sha256)
    if (version === null) return choicePage(ctx, text, member, 'version')
    const targets = (await targetsOf(ctx, member, asked.package)).filter(({ isChosen }) => isChosen)
    if (targets.length === 0 || ctx.query.environment === undefined)
      return choicePage(ctx, text, member, 'environments')
    const chosen = await Promise.all(
      targets.map(async (target) => ({ ...target, before: await versionBefore(parts, target.id, asked.package) })),
    )
    const wanted = { ...asked, organisation: organisation.id, version: version.version }
    const model = {
      organisation,
      package: asked.package,
      version,
      targets: chosen,
      changes: await changesOf(parts, wanted, chosen),
      pace: paceIn(ctx),
      patience: patienceIn(ctx),
      back: `/o/${organisation.name}/rollouts/new${ctx.search}`,
    }
    const heading = text('center.rollout.review', asked.package, version.version)
    return { template: 'rollout-review', heading, part: 'rollouts', model }
  })

  pages.ofOrganisation('/rollouts/:rollout', 'read', async (ctx, _text, member) => {
    const rollout = await rollouts.need(member.organisation.id, rolloutIn(ctx))
    const page = partOf(rollout, member)
    const model = { ...page.model, changes: await changesOf(parts, rollout, await beforeOf(rollout)) }
    return { template: 'rollout', ...page, model }
  })

  // An open page polls this route.
  router.get('/o/:organisation/rollouts/:rollout/progress.json', async (ctx) => {
    requireDataRequest(ctx)
    if (callerOf(ctx)?.kind !== 'person')
      throw new PlatformError('ERR_UNAUTHENTICATED', 'You are not signed in. Sign in, then reload the page.')
    const member = await access.need(ctx, 'read')
    const rollout = await rollouts.need(member.organisation.id, rolloutIn(ctx))
    ctx.body = { html: renderPart(ctx, { template: 'rollout-progress', ...partOf(rollout, member) }) }
  })

  function partOf(rollout: Rollout, { organisation, role }: Member) {
    const may = mayDo(role, 'rollouts')
    const moves = (Object.keys(MOVES) as Move[]).filter(
      (move) => may && (MOVES[move] as readonly RolloutState[]).includes(rollout.state),
    )
    const model = { organisation, rollout, moves }
    return { heading: `${rollout.package} ${rollout.version}`, part: 'rollouts' as const, model }
  }

  /** The environments that the rollout has changed or will change, each with its version before the rollout. */
  async function beforeOf(rollout: Rollout): Promise<EnvironmentBefore[]> {
    const changed = rollout.steps.filter(({ before, state }) => before !== null || state !== 'left')
    return Promise.all(
      changed.map(async ({ name, environment, before }) => ({
        name,
        before: before === null ? await versionBefore(parts, environment, rollout.package) : before.desired,
      })),
    )
  }

  async function choicePage(
    ctx: Context,
    text: PageText,
    member: Member,
    missing: 'version' | 'environments' | null,
  ): Promise<ShownPage> {
    const { organisation } = member
    const chosen = oneOf(ctx.query.version)
    const model = {
      organisation,
      versions: await versionsOf(organisation.id),
      chosen,
      targets: await targetsOf(ctx, member, versionOf(chosen).package),
      paces: PACES,
      pace: paceIn(ctx),
      patience: patienceIn(ctx),
      missing,
    }
    const status = missing === null ? 200 : 422
    return { template: 'rollout-new', heading: text('center.rollouts.new'), part: 'rollouts', model, status }
  }

  /** Suggests selecting the environments that already have the package. */
  async function targetsOf({ query }: Context, { organisation }: Member, name: string) {
    const all = await environments.list(organisation.id)
    const having = await Promise.all(
      all.map(async (one) => (Object.hasOwn((await desiredStates.get(one.id)).solutions, name) ? [one.name] : [])),
    )
    return targetsIn(query as TargetQuery, all, new Set(having.flat()))
  }

  async function versionsOf(organisation: string) {
    const names = (await packages.list(organisation)).map(({ name }) => name)
    const found = await Promise.all(names.map((name) => packages.find(organisation, name)))
    return found.flatMap((one) =>
      (one?.versions ?? []).slice(0, MOST_VERSIONS).map(({ sha256, version, uploadedAt }) => {
        return { value: `${one?.name}@${sha256}`, name: one?.name, version, sha256, uploadedAt }
      }),
    )
  }
}

function oneOf(parameter: string | string[] | undefined): string {
  return [parameter ?? ''].flat()[0] ?? ''
}

function paceIn({ query }: Context): (typeof PACES)[number] {
  return PACES.find((pace) => pace === query.pace) ?? PACES[0]
}

function patienceIn({ query }: Context): number {
  const seconds = Number(query.patience)
  return Number.isInteger(seconds) && seconds >= 10 && seconds <= 86_400 ? seconds : DEFAULT_PATIENCE
}
