import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { readJson } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import type { Environments } from '../environments/environments.ts'
import type { Packages } from '../packages/packages.ts'
import { NewRollout, versionOf } from './openapi.ts'
import { MOVES, type Move, type Rollout, type RolloutState, type Rollouts } from './rollouts.ts'
import type { RolloutRunner } from './runner.ts'

export type RolloutApiParts = {
  readonly access: Access
  readonly environments: Environments
  readonly packages: Pick<Packages, 'findVersion'>
  readonly rollouts: Rollouts
  readonly rolloutRunner: Pick<RolloutRunner, 'wake'>
  readonly activity: Activity
  readonly limits: Limits
}

export function addRolloutRoutes(router: Router, parts: RolloutApiParts): void {
  const { access, environments, packages, rollouts, rolloutRunner, activity, limits } = parts
  const all = '/organisations/:organisation/rollouts'
  const one = `${all}/:rollout`

  router.get(all, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    ctx.body = { items: (await rollouts.list(organisation.id)).map(shown) }
  })

  router.post(all, async (ctx) => {
    const member = await access.need(ctx, 'rollouts')
    const wanted = readWith(NewRollout, await readJson(ctx, limits))
    const { package: name, sha256 } = versionOf(wanted.version)
    const organisation = member.organisation.id
    const act = { action: 'rollout-create', subject: `${name} ${wanted.environments.join(', ')}` }
    const rollout = await recorded(ctx, activity, member, act, async () => {
      const found = await packages.findVersion(organisation, name, sha256)
      if (found === null) throw versionNotFound(name, sha256)
      const places = await Promise.all(wanted.environments.map((place) => environments.need(organisation, place)))
      return rollouts.create({
        organisation,
        package: name,
        sha256,
        version: found.version,
        pace: wanted.pace,
        patience: wanted.patience * 1000,
        createdBy: member.name,
        environments: places.map(({ id }) => id),
      })
    })
    rolloutRunner.wake()
    ctx.status = 201
    ctx.set('Location', `/api/organisations/${member.organisation.name}/rollouts/${rollout.id}`)
    ctx.body = shown(rollout)
  })

  router.get(one, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    ctx.body = shown(await rollouts.need(organisation.id, rolloutIn(ctx)))
  })

  for (const move of Object.keys(MOVES) as Move[]) {
    router.post(`${one}/${move}`, async (ctx) => {
      const member = await access.need(ctx, 'rollouts')
      const rollout = await rollouts.need(member.organisation.id, rolloutIn(ctx))
      const act = { action: `rollout-${move}`, subject: `${rollout.package} ${rollout.version}` }
      await recorded(ctx, activity, member, act, () => DOES[move](rollout))
      rolloutRunner.wake()
      ctx.body = shown(await rollouts.need(member.organisation.id, rollout.id))
    })
  }

  const DOES: Readonly<Record<Move, (rollout: Rollout) => Promise<void>>> = {
    async continue(rollout) {
      refuseFrom(rollout, 'continue')
      for (const { position, state } of rollout.steps) {
        if (state === 'failed') await rollouts.changeStep(rollout.id, position, ['failed'], { state: 'waiting' })
      }
      await change(rollout, 'continue', 'running')
    },
    async cancel(rollout) {
      await change(rollout, 'cancel', 'cancelled')
      for (const { position } of rollout.steps) {
        await rollouts.changeStep(rollout.id, position, ['waiting', 'running'], { state: 'left' })
      }
    },
    async 'roll-back'(rollout) {
      await change(rollout, 'roll-back', 'rolling-back')
    },
  }

  async function change(rollout: Rollout, move: Move, to: RolloutState): Promise<void> {
    refuseFrom(rollout, move)
    if (!(await rollouts.move(rollout.id, MOVES[move], to))) throw notNow(move, rollout.state)
  }
}

function refuseFrom({ state }: Rollout, move: Move): void {
  if (!(MOVES[move] as readonly RolloutState[]).includes(state)) throw notNow(move, state)
}

function notNow(move: Move, state: RolloutState): PlatformError {
  const message = `"${move}" needs a rollout that is ${MOVES[move].join(' or ')}; this one was ${state}. Look at it again.`
  return new PlatformError('ERR_CHANGED_MEANWHILE', message)
}

export function rolloutIn(ctx: Context): string {
  return String((ctx.params as { rollout?: unknown }).rollout ?? '')
}

function shown({ organisation: _, patience, steps, ...rollout }: Rollout) {
  return {
    ...rollout,
    patience: patience / 1000,
    steps: steps.map(({ name, state, number, startedAt, endedAt, before, failure }) => {
      return { environment: name, state, number, startedAt, endedAt, before: before?.desired?.version ?? null, failure }
    }),
  }
}
