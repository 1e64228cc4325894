import Router from '@koa/router'
import type { Middleware } from 'koa'

/**
 * Same as `router.routes()`, but faster: compares a path only with the routes that have the same segment at one
 * position. The router itself compares each path with all of its routes.
 * @param position the number of slashes before the segment: 3 for `session` in `/solution/:solution/session`
 */
export function routesBySegment(router: Router, position: number): Middleware {
  const segments = new Set(router.stack.map((layer) => segmentOf(String(layer.path), position)))
  const partOf = (segment: string) => {
    const part = new Router()
    part.stack = router.stack.filter((layer) => {
      const own = segmentOf(String(layer.path), position)
      return own === segment || !isLiteral(own)
    })
    return [segment, part.routes() as Middleware] as const
  }
  const parts = new Map([...segments].filter(isLiteral).map(partOf))
  const all = router.routes() as Middleware
  return (ctx, next) => (parts.get(segmentOf(ctx.path, position)) ?? all)(ctx, next)
}

function segmentOf(path: string, position: number): string {
  let start = 0
  for (let slash = 0; slash < position; slash++) {
    start = path.indexOf('/', start) + 1
    if (start === 0) return ''
  }
  const end = path.indexOf('/', start)
  return end < 0 ? path.slice(start) : path.slice(start, end)
}

/** False for parameters, wildcards and optional parts, as in `:name`, `*path` and `{.json}`. */
function isLiteral(segment: string): boolean {
  return /^[\w.-]+$/.test(segment)
}
