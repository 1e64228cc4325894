import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { DesiredSettings, type DesiredState, Report, Sha256, SolutionName } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { Member } from '../access/access.ts'
import { type MemberRoute, route } from '../access/route.ts'
import type { Environments } from '../environments/environments.ts'
import type { Packages } from '../packages/packages.ts'
import type { Reports } from '../satellites/reports.ts'
import type { Desired, DesiredStates } from './desired.ts'

export type DesiredApiParts = {
  readonly environments: Environments
  readonly desiredStates: DesiredStates
  readonly packages: Pick<Packages, 'findVersion'>
  readonly reports: Reports
}

/**
 * The sequence number of the desired state that the change is based on. If it no longer matches, someone else has
 * edited the state.
 */
const ReadNumber = z
  .int()
  .min(0)
  .optional()
  .describe(
    'sequence number of the desired state that this change is based on; if it is not the current one, the request fails with 409',
  )

const NewDesired = z
  .strictObject({
    number: ReadNumber,
    solutions: z
      .record(SolutionName, z.strictObject({ sha256: Sha256 }))
      .optional()
      .describe('the version of each solution; if absent, the versions stay unchanged'),
    settings: DesiredSettings.optional().describe('if absent, the settings stay unchanged'),
  })
  .meta({ id: 'NewDesired' })

const DesiredAnswer = z
  .object({
    number: z.int().describe('sequence number; 0 if no state has been set yet'),
    issuedAt: z.int().nullable().describe('epoch ms'),
    solutions: z.record(SolutionName, z.object({ sha256: Sha256, version: z.string() })),
    settings: DesiredSettings,
    nodes: z
      .array(Report.extend({ seenAt: z.int() }))
      .describe('reports that the environment’s Satellites sent in the last 90 s'),
  })
  .meta({ id: 'Desired' })

type Asked = { readonly who: Member; readonly params: { readonly environment: string } }

/** Routes for the desired state of an environment. Rollouts change it too, one environment at a time. */
export function desiredRoutes({ environments, desiredStates, packages, reports }: DesiredApiParts): MemberRoute[] {
  const names = ({ params }: Asked) => ({ target: params.environment })

  async function change({ who, params }: Asked, how: Parameters<DesiredStates['change']>[1]) {
    const { id } = await environments.need(who.organisation.id, params.environment)
    return { ...(await desiredStates.change(id, how)), nodes: await reports.live(id) }
  }

  async function changed(organisation: string, last: Desired, wanted: z.infer<typeof NewDesired>) {
    if (wanted.number !== undefined && wanted.number !== last.number) {
      const message = `The environment’s desired state has changed since you read it: its sequence number is now ${last.number}. Get the current state and try again.`
      throw new PlatformError('ERR_CHANGED_MEANWHILE', message)
    }
    const solutions =
      wanted.solutions === undefined ? last.solutions : await found(organisation, last, wanted.solutions)
    return { solutions, settings: wanted.settings ?? last.settings }
  }

  /**
   * Looks up the requested versions, except those that stay unchanged. After a rollback, the package of an unchanged
   * version may no longer exist.
   */
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

  return [
    route(
      'GET /organisations/:organisation/environments/:environment/desired',
      {
        summary: 'Get the environment’s desired state and its Satellites’ reports',
        right: 'read',
        answers: { 200: DesiredAnswer },
      },
      async ({ who, params }) => {
        const { id } = await environments.need(who.organisation.id, params.environment)
        return { ...(await desiredStates.get(id)), nodes: await reports.live(id) }
      },
    ),
    route(
      'PUT /organisations/:organisation/environments/:environment/desired',
      {
        summary: 'Change versions or settings; connected Satellites get the change immediately',
        right: 'rollouts',
        act: 'desired-change',
        names,
        body: NewDesired,
        answers: { 200: DesiredAnswer },
      },
      (asked) => change(asked, (last) => changed(asked.who.organisation.id, last, asked.body)),
    ),
    route(
      'PUT /organisations/:organisation/environments/:environment/desired/settings',
      {
        summary: 'Change the settings; versions stay unchanged',
        right: 'rollouts',
        act: 'desired-change',
        names,
        body: DesiredSettings,
        answers: { 200: DesiredAnswer },
      },
      (asked) => change(asked, ({ solutions }) => ({ solutions, settings: asked.body })),
    ),
  ]
}
