import { DesiredSettings } from '../../base/protocol/protocol.ts'
import { mayDo } from '../access/roles.ts'
import { environmentIn } from '../environments/api.ts'
import type { Environments } from '../environments/environments.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Reports } from '../satellites/reports.ts'
import type { DesiredStates } from './desired.ts'

export type DesiredPageParts = {
  readonly environments: Environments
  readonly desiredStates: DesiredStates
  readonly reports: Reports
}

/** The page with an environment's desired state, the reports of its nodes, and its settings. */
export function addDesiredPages(pages: PageRouter, { environments, desiredStates, reports }: DesiredPageParts): void {
  pages.ofOrganisation('/environments/:environment/desired', 'read', async (ctx, text, { organisation, role }) => {
    const environment = await environments.need(organisation.id, environmentIn(ctx))
    const desired = await desiredStates.get(environment.id)
    const model = {
      organisation,
      environment,
      desired,
      nodes: await reports.live(environment.id),
      levels: DesiredSettings.shape.logLevel.unwrap().options,
      oauth: desired.settings.oauth === undefined ? '' : JSON.stringify(desired.settings.oauth, null, 2),
      names: [
        ...new Set([...Object.keys(desired.solutions), ...(await environments.solutions(environment.id))]),
      ].sort(),
      mayChange: mayDo(role, 'rollouts'),
    }
    const heading = `${text('center.desired')} · ${environment.name}`
    return { template: 'desired', heading, part: 'environments', model }
  })
}
