import Router from '@koa/router'
import type { Middleware } from 'koa'

/**
 * Same as `router.routes()`, but faster: compares a path only with the routes that have the same segment at one
 * position. The router itself compares each path with all of its routes.
 * @param router has no options except a prefix and `sensitive`; routes that are added later are ignored
 * @param position the number of slashes before the segment: 3 for `session` in `/solution/:solution/session`
 * @throws TypeError if a route is not a string, or its segments before the position are optional or wildcards
 */
export function routesBySegment(router: Router, position: number): Middleware {
  const routes = router.stack.map((layer) => ({ layer, segment: segmentOf(pathOf(layer.path, position), position) }))
  const partOf = (asked: string) => {
    const part = new Router()
    part.stack = routes.filter(({ segment }) => segment === asked || !isLiteral(segment)).map(({ layer }) => layer)
    return [asked, part.routes() as Middleware] as const
  }
  const literals = new Set(routes.map(({ segment }) => segment).filter(isLiteral))
  const parts = new Map([...literals].map(partOf))
  const all = router.routes() as Middleware
  return (ctx, next) => (parts.get(segmentOf(ctx.path, position)) ?? all)(ctx, next)
}

function pathOf(path: string | RegExp, position: number): string {
  const start = String(path).split('/').slice(0, position)
  if (typeof path === 'string' && start.every((segment) => /^:?[\w.-]*$/.test(segment))) return path
  throw new TypeError(`the route ${path} has no fixed number of segments`)
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
