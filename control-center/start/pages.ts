import type { Member } from '../access/access.ts'
import { mayDo } from '../access/roles.ts'
import type { EnvironmentTokens } from '../environments/environment-tokens.ts'
import type { Environment, Environments } from '../environments/environments.ts'
import type { EnvironmentState, EnvironmentStates } from '../environments/states.ts'
import type { Packages } from '../packages/packages.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Rollouts } from '../rollouts/rollouts.ts'
import { RANGES } from '../telemetry/ranges.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { firstSteps } from './first-steps.ts'

export type StartPageParts = {
  readonly environments: Environments
  readonly environmentStates: EnvironmentStates
  readonly environmentTokens: Pick<EnvironmentTokens, 'ofOrganisation'>
  readonly packages: Pick<Packages, 'list'>
  readonly rollouts: Pick<Rollouts, 'list'>
  readonly telemetry: Pick<Telemetry, 'logs'>
}

/** Maximum items of each kind on the page; the page links to the full lists. */
const MOST_SHOWN = { environments: 10, rollouts: 5, errors: 5 }

type ShownEnvironment = Environment & { readonly state: EnvironmentState | null }

/**
 * The page that members see after signing in. It shows what is running, what was changed most recently, and what needs
 * attention.
 */
export function addStartPage(pages: PageRouter, parts: StartPageParts): void {
  const { environments, environmentStates, environmentTokens, packages, rollouts, telemetry } = parts

  async function environmentsOf({ organisation }: Member): Promise<readonly ShownEnvironment[]> {
    const states = await environmentStates.ofOrganisation(organisation.id)
    const all = await environments.list(organisation.id)
    return all.map((environment) => ({ ...environment, state: states.get(environment.id) ?? null }))
  }

  async function errorsOf(all: readonly Environment[], now: number) {
    const names = new Map(all.map(({ id, name }) => [id, name]))
    const filter = { environments: [...names.keys()] }
    const day = now - RANGES['24h'].length
    return {
      hour: await telemetry.logs.countErrors(filter, now - RANGES['1h'].length),
      day: await telemetry.logs.countErrors(filter, day),
      places: (await telemetry.logs.errors(filter, day, MOST_SHOWN.errors)).map((place) => {
        return { ...place, environment: names.get(place.environment) ?? '' }
      }),
    }
  }

  pages.ofOrganisation('', 'read', async (_ctx, _text, member) => {
    const { organisation, role } = member
    const all = await environmentsOf(member)
    const tokens = await environmentTokens.ofOrganisation(organisation.id)
    const last = await rollouts.list(organisation.id, MOST_SHOWN.rollouts)
    const connected = all.filter(({ state }) => state?.isConnected)
    const steps = firstSteps(
      {
        environments: all.length,
        tokens: tokens.length,
        connected: all.filter(({ state }) => state !== null).length,
        packages: (await packages.list(organisation.id)).length,
        rollouts: last.length,
      },
      role,
    )
    const model = {
      base: `/o/${organisation.name}`,
      steps,
      next: steps.find(({ isDone }) => !isDone)?.name ?? null,
      environments: all.toSorted((one, other) => urgency(other) - urgency(one)).slice(0, MOST_SHOWN.environments),
      counts: { environments: all.length, connected: connected.length },
      rollouts: last,
      errors: await errorsOf(all, Date.now()),
      may: { rollouts: mayDo(role, 'rollouts') },
    }
    return { template: 'start', heading: organisation.title, part: 'start', model }
  })
}

/** The sort key: environments that need attention come first. */
function urgency({ state }: ShownEnvironment): number {
  if (state === null) return 0
  if (!state.isConnected) return 4
  return { bad: 3, warning: 2, good: 1 }[state.health?.health ?? 'good']
}
