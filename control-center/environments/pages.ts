import type { PageRouter } from '../pages/page.ts'
import type { Environments } from './environments.ts'

export type EnvironmentPageParts = { readonly environments: Environments }

export function addEnvironmentPages(pages: PageRouter, { environments }: EnvironmentPageParts): void {
  pages.ofOrganisation('/environments', 'read', async (_ctx, text, { organisation }) => {
    const items = await environments.list(organisation.id)
    return {
      template: 'environments',
      heading: text('center.part.environments'),
      part: 'environments',
      model: { items },
    }
  })
}
