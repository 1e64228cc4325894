import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type Router from '@koa/router'
import { allowMedia } from '../../base/http/content-security.ts'

/** uPlot's own browser build, which defines `var uPlot`. Served from our origin: pages load nothing from elsewhere. */
const FILES = {
  script: { path: '/uplot.js', file: 'uplot/dist/uPlot.iife.min.js', type: 'text/javascript; charset=utf-8' },
  style: { path: '/uplot.css', file: 'uplot/dist/uPlot.min.css', type: 'text/css; charset=utf-8' },
} as const

const require = createRequire(import.meta.url)
const library = Object.values(FILES).map(({ path, file, type }) => {
  const text = readFileSync(require.resolve(file), 'utf8')
  return { path, type, text, hash: createHash('sha256').update(text).digest('base64url').slice(0, 22) }
})

/** URLs with a content hash, so they change when the files change. */
export const CHART_LIBRARY = library.map(({ path, hash }) => `${path}?${hash}`) as [script: string, style: string]

export function addChartLibrary(router: Router): void {
  for (const { path, type, text, hash } of library) {
    router.get(path, (ctx) => {
      allowMedia(ctx, false)
      ctx.type = type
      ctx.status = 200
      ctx.etag = hash
      if (ctx.fresh) ctx.status = 304
      else ctx.body = text
    })
  }
}
