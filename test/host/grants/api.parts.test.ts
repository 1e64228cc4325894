import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Router from '@koa/router'
import Koa from 'koa'
import { expect, test } from 'vitest'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { statusOf } from '../../../base/http/errors.ts'
import { setActor } from '../../../host/access/actor.ts'
import { createAudit } from '../../../host/access/audit.ts'
import { addAdminRoutes } from '../../../host/access/route.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import { type GrantApiParts, grantRoutes } from '../../../host/grants/api.ts'
import { createGrants } from '../../../host/grants/grants.ts'
import type { PlatformError } from '../../../runtime/errors.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { ask } from '../../support/http.ts'

test('grants: the platform’s own database or account is rejected, even among valid grants, and nothing is stored', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-grants-api-'))
  const db = await openHostDatabase(home)
  const limits = createLimits()
  const grants = createGrants(db, await openPlatformKey(db, home, ''))
  const router = new Router()
  const parts = {
    store: { get: async () => ({ name: 'crm' }) },
    catalog: { active: async () => null },
    grants,
    audit: createAudit(db, limits),
    limits,
    platformDatabase: { server: 'gamma', database: 'Platform', username: 'solhost' },
  }
  addAdminRoutes(router, grantRoutes(parts as unknown as GrantApiParts), parts)
  const app = new Koa()
  app.use(async (ctx, next) => {
    ctx.state = { correlationId: 'c', client: { address: '127.0.0.1' } }
    setActor(ctx, { name: 'admin', scopes: null, isConfirmed: true, isStillIn: async () => true })
    await next().catch((error: PlatformError) => {
      ctx.status = statusOf(error)
      ctx.body = error.message
    })
  })
  app.use(router.routes())
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const put = (database: string, username?: string) =>
    ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}/solutions/crm/grants`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        databases: {
          own: { server: 'gamma', database: 'own', username: 'u' },
          crm: { server: 'gamma', database, username },
        },
      }),
    })
  for (const name of ['platform', 'PLATFORM', 'Platform']) {
    const refused = await put(name, 'u')
    expect([refused.status, refused.text]).toEqual([
      422,
      `databases.crm: "${name}" on gamma is the platform's own database. Grant a different database.`,
    ])
  }
  for (const username of [undefined, 'solhost', 'SolHost']) {
    const refused = await put('platform2', username)
    expect(refused.status).toBe(422)
    expect(refused.text).toContain(
      'databases.crm: This grant would use the platform’s own account on the server gamma (DB_GAMMA_USERNAME)',
    )
  }
  expect(await grants.show('crm')).toEqual({ databases: {}, http: [], users: false })
  expect((await put('platform2', 'u')).status).toBe(200)
  server.close()
  await db.destroy()
  rmSync(home, { recursive: true })
})
