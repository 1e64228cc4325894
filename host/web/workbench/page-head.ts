import { pageData, partOf } from './page-data.ts'

/**
 * Updates the draft's title, tabs and base. For example, a new solution has tabs only after its first publication. If
 * the request fails, the page keeps the old ones.
 */
export async function reloadHead(): Promise<void> {
  const html = await fetch(pageData.head)
    .then(async (answer) => (answer.ok ? ((await answer.json()) as { html: string }).html : null))
    .catch(() => null)
  if (html !== null)
    partOf('head').replaceChildren(...new DOMParser().parseFromString(html, 'text/html').body.childNodes)
}
