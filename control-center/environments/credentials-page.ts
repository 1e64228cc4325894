import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { publicOriginOf } from '../access/page-sessions.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Registries } from '../registries/registries.ts'
import type { Signing } from '../signing/signing.ts'
import type { EnvironmentTokens } from './environment-tokens.ts'
import type { Environments } from './environments.ts'
import { satelliteCommands } from './satellite-commands.ts'

export type CredentialPageParts = {
  readonly environments: Environments
  readonly environmentTokens: EnvironmentTokens
  readonly registries: Registries
  readonly settings: Pick<ServiceSettings, 'publicUrl'>
  readonly signing: Pick<Signing, 'publicKey'>
  readonly version: string
}

/**
 * Adds the page with credentials for Satellites and the container runtime: remote environment tokens, and passwords and
 * access keys for registries.
 */
export function addCredentialPages(pages: PageRouter, parts: CredentialPageParts): void {
  const { environments, environmentTokens, registries, settings, signing, version } = parts

  pages.ofOrganisation('/credentials', 'credentials', async (ctx, text, { organisation }) => {
    const all = await environments.list(organisation.id)
    const asked = String(ctx.query.environment ?? '')
    const model = {
      organisation,
      environments: all.map(({ name }) => name),
      chosen: all.find(({ name }) => name === asked)?.name ?? null,
      tokens: await environmentTokens.ofOrganisation(organisation.id),
      registries: await registries.list(organisation.id),
      commands: satelliteCommands({
        cloudUrl: publicOriginOf(ctx, settings),
        publicKey: signing.publicKey,
        version,
      }),
    }
    return { template: 'credentials', heading: text('center.part.credentials'), part: 'credentials', model }
  })
}
