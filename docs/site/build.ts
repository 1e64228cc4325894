// Builds the docs as a static site: `npm run docs:site` writes it to build/site, or to the folder given as an argument.
// Eleventy renders the pages; MiniSearch searches them in the browser. All links are relative, so the site works in any
// folder of a web server.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import Eleventy, { type MarkdownIt } from '@11ty/eleventy'
import MiniSearch from 'minisearch'
import { layout } from './layout.ts'
import { anchorOf, LINK, type Page, pathOf, ROOT, readNavigation, readPages, targetOf } from './pages.ts'
import { SEARCHED, type Section, sectionsOf } from './sections.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const STYLES = ['base/web/styles/tokens.css', 'docs/site/site.css']

const folder = resolve(process.argv[2] ?? join(ROOT, 'build/site'))
const pages = readPages()
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const sections = await renderPages(pages)
for (const file of filesOf(pages)) copyInto(file, join(ROOT, file))
copyInto('minisearch.js', fileURLToPath(import.meta.resolve('minisearch')))
copyInto('search.js', join(HERE, 'search.js'))
writeFileSync(join(folder, 'site.css'), STYLES.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n'))
const search = new MiniSearch<Section>(SEARCHED)
search.addAll(sections.map((section, id) => ({ id, ...section })))
writeFileSync(join(folder, 'search.json'), JSON.stringify(search))
process.stdout.write(`Wrote ${pages.length} pages to ${folder}\n`)

async function renderPages(all: readonly Page[]): Promise<Omit<Section, 'id'>[]> {
  const navigation = readNavigation(all)
  const files = new Set(all.map(({ file }) => file))
  const byPath = new Map(all.map((page) => [pathOf(page.file), page]))
  const found: Omit<Section, 'id'>[] = []
  const site = new Eleventy(HERE, folder, {
    quietMode: true,
    configPath: false,
    config(eleventy) {
      eleventy.setUseGitIgnore(false)
      eleventy.setTemplateFormats(['md'])
      eleventy.amendLibrary('md', addAnchors)
      for (const page of all) {
        // Markdown may contain examples in any template language. Eleventy must not run them.
        const data = { permalink: pathOf(page.file), templateEngineOverride: 'md' }
        eleventy.addTemplate(page.file, withSiteLinks(page, files), data)
      }
      eleventy.addTransform('layout', function (content) {
        const page = byPath.get(this.page.url.slice(1)) ?? byPath.get(`${this.page.url.slice(1)}index.html`)
        if (page === undefined) throw new Error(`No file in the docs has the URL ${this.page.url}.`)
        found.push(...sectionsOf(page, content))
        return layout(page, withScrolling(content), navigation)
      })
    },
  })
  await site.write()
  return found
}

/** Sets each heading's id to the anchor that links use. */
function addAnchors(markdown: MarkdownIt): void {
  markdown.core.ruler.push('anchors', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type === 'heading_open') token.attrSet('id', anchorOf(tokens[index + 1]?.content ?? ''))
    }
  })
}

/** Wide code and tables scroll separately. They must be focusable, so that the arrow keys scroll them. */
function withScrolling(content: string): string {
  return content
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
}

/**
 * Replaces the links in a page. Links to other pages use the path on the site. Links to source code, which is not on
 * the site, become plain text.
 */
function withSiteLinks({ file, markdown }: Page, files: ReadonlySet<string>): string {
  return markdown.replace(LINK, (link, text: string, address: string) => {
    const target = targetOf(file, address)
    if (target === null || isCopied(target)) return link
    return files.has(target) ? `[${text}](${address.replace(/^[^#]+/, pathOf)})` : text
  })
}

/** The files that pages show or link to, except source code: images, schemas and the license. */
function filesOf(all: readonly Page[]): Set<string> {
  const targets = all.flatMap(({ file, markdown }) =>
    [...markdown.matchAll(/\]\(([^)\s]+)\)/g)].map(([, address = '']) => targetOf(file, address)),
  )
  return new Set(targets.filter((target) => target !== null).filter(isCopied))
}

function isCopied(file: string): boolean {
  return /\.(png|svg|json)$|^LICENSE$/.test(file)
}

function copyInto(path: string, from: string): void {
  const to = join(folder, path)
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}
