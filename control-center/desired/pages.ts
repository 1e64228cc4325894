import type { Context } from 'koa'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { oauthForm } from '../../base/oauth/page-fields.ts'
import { DesiredOAuth, DesiredSettings } from '../../base/protocol/protocol.ts'
import type { Manifest } from '../../runtime/bundle/manifest.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { needSolutionName } from '../access/of-solution.ts'
import { mayDo } from '../access/roles.ts'
import { environmentIn } from '../environments/api.ts'
import type { Environments } from '../environments/environments.ts'
import type { BundleChecks } from '../packages/bundle-checks.ts'
import type { Packages } from '../packages/packages.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Reports } from '../satellites/reports.ts'
import type { Desired, DesiredStates } from './desired.ts'

export type DesiredPageParts = {
  readonly environments: Environments
  readonly desiredStates: DesiredStates
  readonly reports: Reports
  readonly packages: Pick<Packages, 'bundle'>
  readonly bundleChecks: Pick<BundleChecks, 'manifestOf'>
}

/** The pages for an environment's desired state and settings. They also show the reports from its nodes. */
export function addDesiredPages(pages: PageRouter, parts: DesiredPageParts): void {
  const { environments, desiredStates, reports, packages, bundleChecks } = parts

  pages.ofOrganisation('/environments/:environment/desired', 'read', async (ctx, text, { organisation, role }) => {
    const environment = await environments.need(organisation.id, environmentIn(ctx))
    const desired = await desiredStates.get(environment.id)
    const model = {
      organisation,
      environment,
      desired,
      nodes: await reports.live(environment.id),
      levels: DesiredSettings.shape.logLevel.unwrap().options,
      names: await namesIn(environment.id, desired),
      mayChange: mayDo(role, 'rollouts'),
    }
    const heading = `${text('center.desired')} · ${environment.name}`
    return { template: 'desired', heading, part: 'environments', model }
  })
  // The same wizard as on the host's admin pages, but only with the settings that a desired state can contain.
  pages.ofOrganisation(
    '/environments/:environment/oauth/:solution',
    'rollouts',
    async (ctx, text, { organisation }) => {
      const environment = await environments.need(organisation.id, environmentIn(ctx))
      const desired = await desiredStates.get(environment.id)
      const solution = solutionIn(ctx)
      const { oauth } = desired.settings
      const written = oauth !== undefined && Object.hasOwn(oauth, solution) ? (oauth[solution] ?? null) : null
      const manifest = await manifestOf(organisation.id, solution, desired)
      const model = {
        organisation,
        environment,
        solution,
        authenticator: manifest?.authenticator ?? null,
        isSet: written !== null,
        form: oauthForm(solution, manifest?.oauth ?? null, written, (name) => Object.hasOwn(DesiredOAuth.shape, name)),
      }
      const heading = `${text('center.desired.oauth')} · ${solution}`
      return { template: 'desired-oauth', heading, part: 'environments', model }
    },
  )

  /** Solutions that are in the desired state, have settings, or may be read with the environment's token. */
  async function namesIn(environment: string, { solutions, settings }: Desired): Promise<readonly string[]> {
    const others = await environments.solutions(environment)
    return [...new Set([...Object.keys(solutions), ...Object.keys(settings.oauth ?? {}), ...others])].sort()
  }

  /** The manifest of the desired version; null if there is none, or if it can't be read now. */
  async function manifestOf(organisation: string, solution: string, desired: Desired): Promise<Manifest | null> {
    const version = Object.hasOwn(desired.solutions, solution) ? desired.solutions[solution] : undefined
    if (version === undefined) return null
    const read = async () => {
      const packed = await packages.bundle(organisation, solution, version.sha256)
      if (packed === null) throw versionNotFound(solution, version.sha256)
      return packed
    }
    return bundleChecks.manifestOf(read).catch((error: unknown) => {
      if (error instanceof PlatformError) return null
      throw error
    })
  }
}

/** @throws ERR_NOT_FOUND for an invalid name */
function solutionIn({ params }: Context): string {
  const { solution = '' } = params as { solution?: string }
  return needSolutionName(solution, 'ERR_NOT_FOUND')
}
