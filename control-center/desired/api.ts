import type Router from '@koa/router'
import { readWith } from '../../base/api/read-with.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { readJson } from '../../base/http/read-body.ts'
import { DesiredSettings, type DesiredState } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { z } from '../../runtime/zod.ts'
import type { Access } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import type { Environments } from '../environments/environments.ts'
import type { Packages } from '../packages/packages.ts'
import type { Reports } from '../satellites/reports.ts'
import type { Desired, DesiredStates } from './desired.ts'
import { NewDesired } from './openapi.ts'

export type DesiredApiParts = {
  readonly access: Access
  readonly environments: Environments
  readonly desiredStates: DesiredStates
  readonly packages: Pick<Packages, 'findVersion'>
  readonly reports: Reports
  readonly activity: Activity
  readonly limits: Limits
}

/** What an environment is to run. Rollouts change it too, one environment after the other. */
export function addDesiredRoutes(router: Router, parts: DesiredApiParts): void {
  const { access, environments, desiredStates, packages, reports, activity, limits } = parts
  const path = '/organisations/:organisation/environments/:environment/desired'
  const nameOf = (params: unknown) => String((params as { environment: string }).environment)

  router.get(path, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const { id } = await environments.need(organisation.id, nameOf(ctx.params))
    ctx.body = { ...(await desiredStates.get(id)), nodes: await reports.live(id) }
  })

  router.put(path, async (ctx) => {
    const member = await access.need(ctx, 'rollouts')
    const wanted = readWith(NewDesired, await readJson(ctx, limits))
    const name = nameOf(ctx.params)
    const desired = await recorded(ctx, activity, member, { action: 'desired-change', subject: name }, async () => {
      const { id } = await environments.need(member.organisation.id, name)
      const change = (last: Desired) => changed(member.organisation.id, last, wanted)
      return { ...(await desiredStates.change(id, change)), nodes: await reports.live(id) }
    })
    ctx.body = desired
  })

  router.put(`${path}/settings`, async (ctx) => {
    const member = await access.need(ctx, 'rollouts')
    const settings = readWith(DesiredSettings, await readJson(ctx, limits))
    const name = nameOf(ctx.params)
    const desired = await recorded(ctx, activity, member, { action: 'desired-change', subject: name }, async () => {
      const { id } = await environments.need(member.organisation.id, name)
      const change = ({ solutions }: Desired) => ({ solutions, settings })
      return { ...(await desiredStates.change(id, change)), nodes: await reports.live(id) }
    })
    ctx.body = desired
  })

  async function changed(organisation: string, last: Desired, wanted: z.infer<typeof NewDesired>) {
    if (wanted.number !== undefined && wanted.number !== last.number) {
      const message = `Somebody changed this environment meanwhile: its number is ${last.number}. Look at it again.`
      throw new PlatformError('ERR_CHANGED_MEANWHILE', message)
    }
    const solutions =
      wanted.solutions === undefined ? last.solutions : await found(organisation, last, wanted.solutions)
    return { solutions, settings: wanted.settings ?? last.settings }
  }

  /** Versions that stay are not looked up: a rollback can have asked for one that is no package any more. */
  async function found(
    organisation: string,
    last: Desired,
    wanted: NonNullable<z.infer<typeof NewDesired>['solutions']>,
  ): Promise<DesiredState['solutions']> {
    const solutions: DesiredState['solutions'] = {}
    for (const [name, { sha256 }] of Object.entries(wanted)) {
      const same = last.solutions[name]
      const version = same?.sha256 === sha256 ? same : await packages.findVersion(organisation, name, sha256)
      if (version === null) throw versionNotFound(name, sha256)
      solutions[name] = { sha256, version: version.version }
    }
    return solutions
  }
}
