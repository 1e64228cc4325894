import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import { expect, test } from 'vitest'
import { routesBySegment } from '../../../base/http/routes-by-segment.ts'

const PATHS = ['/', '/index.html', '/session', '/a/:id', '/a/:id/b', '/:any/end', '/media/*path', '/v{.json}', '/x.js']

const ASKED = [
  '/',
  '/solution',
  '/solution/s',
  '/solution/s/',
  '/solution/s//',
  '/solution//index.html',
  '/solution/s/index.html',
  '/solution/s/index.html/',
  '/solution/s/index.html/more',
  '//solution/s/index.html',
  '/solution/s/INDEX.html',
  '/solution/s/index%2ehtml',
  '/solution/s/a/1',
  '/solution/s/a/1/b',
  '/solution/s/a/end',
  '/solution/s/session/end',
  '/solution/s/media/x/y.png',
  '/solution/s/media',
  '/solution/s/v',
  '/solution/s/v.json',
  '/solution/s/x.js',
  '/solution/s/unknown',
  '/solution/s/constructor',
  '/other/s/session',
]

function routerOf(): Router {
  const router = new Router({ prefix: '/solution/:solution', sensitive: true })
  for (const path of PATHS) {
    router.get(path, (ctx, next) => {
      ctx.body = [...((ctx.body as string[] | undefined) ?? []), `GET ${path} ${JSON.stringify(ctx.params)}`]
      return next()
    })
  }
  router.post('/session', (ctx) => {
    ctx.body = ['POST /session']
  })
  return router
}

/** @returns what the routes did with a request, and which methods they support at its path */
async function answerOf(routes: Middleware, method: string, path: string) {
  const ctx = { method, path, host: 'a.example', request: {} } as unknown as Context & {
    matched?: { path: string; methods: string[] }[]
    _matchedRoute?: string
  }
  let passed = false
  await routes(ctx, async () => {
    passed = true
  })
  const matched = ctx.matched?.map((layer) => [layer.path, layer.methods])
  return { body: ctx.body, passed, matched, route: ctx._matchedRoute }
}

test.each(['GET', 'HEAD', 'POST', 'DELETE'])(
  '%s: every path gets the same response as from the router',
  async (method) => {
    const all = routerOf().routes() as Middleware
    const bySegment = routesBySegment(routerOf(), 3)
    for (const path of ASKED) {
      expect({ path, ...(await answerOf(bySegment, method, path)) }).toEqual({
        path,
        ...(await answerOf(all, method, path)),
      })
    }
  },
)

test('a path is compared only with routes that it can match', async () => {
  const router = routerOf()
  const compared: string[] = []
  for (const layer of router.stack) {
    const match = layer.match.bind(layer)
    layer.match = (path) => {
      compared.push(String(layer.path))
      return match(path)
    }
  }
  await answerOf(routesBySegment(router, 3), 'GET', '/solution/s/session')
  const under = (path: string) => `/solution/:solution${path}`
  expect(compared).toEqual([under(''), under('/session'), under('/:any/end'), under('/v{.json}'), under('/session')])
})
