import { pageData, partOf } from './page-data.ts'

/**
 * Updates the draft's title, tabs and base. For example, a new solution gets its tabs with its first publication. If
 * they can't be loaded, the page keeps the old ones.
 */
export async function reloadHead(): Promise<void> {
  const html = await fetch(pageData.head)
    .then(async (answer) => (answer.ok ? ((await answer.json()) as { html: string }).html : null))
    .catch(() => null)
  if (html !== null)
    partOf('head').replaceChildren(...new DOMParser().parseFromString(html, 'text/html').body.childNodes)
}
