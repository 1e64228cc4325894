import { mayDo } from '../access/roles.ts'
import type { PageRouter } from '../pages/page.ts'
import { environmentIn } from './api.ts'
import type { EnvironmentTokens } from './environment-tokens.ts'
import { ENVIRONMENT_TYPES, type Environments } from './environments.ts'
import type { EnvironmentStates } from './states.ts'

export type EnvironmentPageParts = {
  readonly environments: Environments
  readonly environmentStates: EnvironmentStates
  readonly environmentTokens: EnvironmentTokens
}

export function addEnvironmentPages(pages: PageRouter, parts: EnvironmentPageParts): void {
  const { environments, environmentStates, environmentTokens } = parts

  pages.ofOrganisation('/environments', 'read', async (_ctx, text, { organisation, role }) => {
    const states = await environmentStates.ofOrganisation(organisation.id)
    const items = (await environments.list(organisation.id)).map((environment) => ({
      ...environment,
      state: states.get(environment.id) ?? null,
    }))
    const model = { organisation, items, types: ENVIRONMENT_TYPES, mayChange: mayDo(role, 'environments') }
    return { template: 'environments', heading: text('center.part.environments'), part: 'environments', model }
  })

  pages.ofOrganisation('/environments/:environment', 'read', async (ctx, _text, { organisation, role }) => {
    const environment = await environments.need(organisation.id, environmentIn(ctx))
    const maySeeTokens = mayDo(role, 'credentials')
    const model = {
      organisation,
      environment,
      state: await environmentStates.find(environment.id),
      solutions: await environments.solutions(environment.id),
      mayChange: mayDo(role, 'environments'),
      tokens: maySeeTokens ? await environmentTokens.list(environment.id) : null,
    }
    return { template: 'environment', heading: environment.name, part: 'environments', model }
  })
}
