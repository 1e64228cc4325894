import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type Router from '@koa/router'
import { allowGuide } from './content-security.ts'

/** The docs as a static site (`npm run docs:site`). Packages and images contain it. In a clone, it may be missing. */
const SITE = fileURLToPath(new URL('../../build/site/', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '': 'text/plain; charset=utf-8',
}

/** Serves the docs under `/guides/`, without sign-in, since they are the same on every host. */
export function addGuideRoutes(router: Router, site: string = SITE): void {
  const files = filesOf(site)
  router.get('/guides/*path', async (ctx, next) => {
    const { path = '' } = ctx.params as { path?: string }
    const type = TYPES[extname(path)]
    // Only files that existed at startup are read, so no request path can reach any other file.
    if (!files.has(path) || type === undefined) return next()
    allowGuide(ctx)
    ctx.type = type
    ctx.body = await readFile(`${site}/${path}`)
  })
}

/**
 * Returns the URL of a guide, or null if this installation has no docs.
 * @param root the prefix of the service's pages
 * @param guide a page of `docs/`, without its extension, and an anchor: `operating#users`
 */
export function guidePath(root: '/admin' | '', guide: string, site: string = SITE): string | null {
  const [page = '', anchor] = guide.split('#')
  if (!existsSync(`${site}/docs/${page}.html`)) return null
  return `${root}/guides/docs/${page}.html${anchor === undefined ? '' : `#${anchor}`}`
}

function filesOf(site: string): ReadonlySet<string> {
  if (!existsSync(site)) return new Set()
  const entries = readdirSync(site, { recursive: true, withFileTypes: true })
  return new Set(
    entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(site.length).replace(/^\//, '')),
  )
}
