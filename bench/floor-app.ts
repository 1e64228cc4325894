// A separate process: bare Koa apps that do the minimum for a login page and for a session check. The arguments are two
// files: the login page, and the response of `GET session`.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Eta } from 'eta'
import Koa from 'koa'

const [pageFile = '', sessionFile = ''] = process.argv.slice(2)
const eta = new Eta()
// The page has two placeholders, like the real login page with its token and nonce.
const page = readFileSync(pageFile, 'utf8').replace(
  /name="csrf_token" value="[^"]*"/,
  'name="csrf_token" value="<%= it.token %>"',
)
const render = eta.compile(page.replace(/nonce="[^"]*"/g, 'nonce="<%= it.nonce %>"'))
const sessions = new Map([['x'.repeat(43), JSON.parse(readFileSync(sessionFile, 'utf8')) as unknown]])

const app = new Koa()
app.use((ctx) => {
  if (ctx.path === '/session') {
    const cookie = /(?:^|; )session=([^;]*)/.exec(ctx.get('Cookie'))?.[1] ?? ''
    const session = sessions.get(cookie)
    if (session === undefined) ctx.status = 401
    else ctx.body = session
    return
  }
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = eta.render(render, { token: 't'.repeat(43), nonce: 'n'.repeat(24) })
})

const server = createServer(app.callback())
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit(0))
