import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The first page of the site. It links to all others, directly or through other pages. */
export const START = 'README.md'
/** The contents page. Its headings and links are the site's navigation. */
export const CONTENTS = 'docs/README.md'

/** A page of the site: a Markdown file. Paths are relative to the project's folder. */
export type Page = { readonly file: string; readonly title: string; readonly markdown: string }
export type NavigationGroup = { readonly title: string; readonly pages: readonly Pick<Page, 'file' | 'title'>[] }

/** Matches a link but not an image. The groups are the link's text and its URL. */
export const LINK = /(?<!!)\[([^\]]*)\]\(([^)\s]+)\)/g

/** The start page, and all Markdown files that it links to, directly or through other pages. */
export function readPages(): Page[] {
  const pages = new Map<string, Page>()
  const waiting = [START]
  for (const file of waiting) {
    if (pages.has(file)) continue
    const markdown = readFileSync(join(ROOT, file), 'utf8')
    pages.set(file, { file, title: /^# (.+)$/m.exec(markdown)?.[1] ?? file, markdown })
    for (const [, , address = ''] of markdown.matchAll(LINK)) {
      const target = targetOf(file, address)
      if (target?.endsWith('.md')) waiting.push(target)
    }
  }
  return [...pages.values()]
}

/** Each page appears once, where the contents page first links to it. */
export function readNavigation(pages: readonly Page[]): NavigationGroup[] {
  const contents = pages.find(({ file }) => file === CONTENTS)
  const [, ...groups] = (contents?.markdown ?? '').split(/^## /m)
  const seen = new Set<string>()
  return groups.map((group) => {
    const files = [...group.matchAll(LINK)]
      .map(([, , address = '']) => address)
      .filter((address) => !address.includes('#'))
      .map((address) => targetOf(CONTENTS, address))
    const listed = files.flatMap((target) => {
      const page = pages.find(({ file }) => file === target)
      if (page === undefined || seen.has(page.file)) return []
      seen.add(page.file)
      return [page]
    })
    return { title: group.slice(0, group.indexOf('\n')), pages: listed }
  })
}

/** @returns the file that a link in a page points to; null for other sites and anchors on the same page */
export function targetOf(file: string, address: string): string | null {
  const [path = ''] = address.split('#')
  return path === '' || /^[a-z]+:/.test(path) ? null : normalize(join(dirname(file), path))
}

/**
 * Returns the path of a page on the site. Folders stay as they are, so that relative links between pages keep working.
 */
export function pathOf(file: string): string {
  return file.replace(/README\.md$/, 'index.html').replace(/\.md$/, '.html')
}

/** Derives an anchor from a heading as GitHub does, so that links work in both places. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}
