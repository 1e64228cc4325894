import { Readable } from 'node:stream'
import type Router from '@koa/router'
import type { Context } from 'koa'
import type { User, Users } from '../../base/accounts/users.ts'
import { readWith } from '../../base/api/read-with.ts'
import { userTarget } from '../../base/api/targets.ts'
import { readBytes, readJson } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Audit, ERASED_USER } from '../audit/audit.ts'
import type { UsersCsv } from '../users/users-csv.ts'
import { auditOf, needScope } from './actor.ts'
import { audited, type Named } from './audited.ts'
import { ImportQuery, NewUser, UserChange, UserQuery } from './users-openapi.ts'

export type UserApiParts = {
  readonly users: Users
  readonly usersCsv: UsersCsv
  readonly audit: Audit
  readonly limits: Limits
}

/** The default users. A password comes in and never goes out. */
export function addUserRoutes(router: Router, { users, usersCsv, audit, limits }: UserApiParts): void {
  /** Read before the change: a user who is deleted has no name any more. */
  async function target(ctx: Context): Promise<Named> {
    const user = await users.get(uidOf(ctx))
    return { target: user === null ? `uid:${uidOf(ctx)}` : userTarget(user) }
  }

  router.get('/users', async (ctx) => {
    needScope(ctx, 'users', 'read')
    const { items, next } = await users.list(readWith(UserQuery, { ...ctx.query }))
    ctx.body = { items: items.map(shown), ...(next === undefined ? {} : { next }) }
  })

  router.post('/users', async (ctx) => {
    const user = await audited(ctx, audit, 'user-create', {}, async (named) => {
      needScope(ctx, 'users', 'write')
      const wanted = readWith(NewUser, await readJson(ctx, limits))
      named.target = userTarget(wanted)
      return users.create(wanted)
    })
    ctx.status = 201
    ctx.set('Location', `/admin/api/users/${user.uid}`)
    ctx.body = shown(user)
  })

  router.get('/users/:uid', async (ctx) => {
    needScope(ctx, 'users', 'read')
    const uid = uidOf(ctx)
    const user = await users.get(uid)
    if (user === null) throw new PlatformError('ERR_USER_NOT_FOUND', `There is no user with the uid "${uid}".`)
    ctx.body = shown(user)
  })

  router.patch('/users/:uid', async (ctx) => {
    const user = await audited(ctx, audit, 'user-change', await target(ctx), async () => {
      needScope(ctx, 'users', 'write')
      return users.change(uidOf(ctx), readWith(UserChange, await readJson(ctx, limits)))
    })
    ctx.body = shown(user)
  })

  router.delete('/users/:uid', async (ctx) => {
    await audited(ctx, audit, 'user-delete', await target(ctx), () => {
      needScope(ctx, 'users', 'write')
      return users.delete(uidOf(ctx))
    })
    ctx.status = 204
  })

  router.post('/users/:uid/sign-out', async (ctx) => {
    await audited(ctx, audit, 'session-end', await target(ctx), () => {
      needScope(ctx, 'users', 'write')
      return users.signOut(uidOf(ctx))
    })
    ctx.status = 204
  })

  router.post('/users/:uid/erase', async (ctx) => {
    await audited(ctx, audit, 'user-erase', await target(ctx), async (named) => {
      needScope(ctx, 'users', 'write')
      await users.erase(uidOf(ctx))
      named.target = ERASED_USER
    })
    ctx.status = 204
  })

  router.get('/users.csv', async (ctx) => {
    needScope(ctx, 'users', 'read')
    // Everybody's names leave the house: that is written down before the first of them does.
    await audit.record(auditOf(ctx, 'user-export', 'ok', { target: 'users' }))
    ctx.type = 'text/csv; charset=utf-8; header=present'
    ctx.set('Content-Disposition', 'attachment; filename="users.csv"')
    ctx.body = Readable.from(usersCsv.export())
  })

  router.post('/users.csv', async (ctx) => {
    const { 'dry-run': asked = 'false' } = readWith(ImportQuery, { ...ctx.query })
    const dryRun = asked !== 'false'
    async function importUsers() {
      needScope(ctx, 'users', 'write')
      return usersCsv.import(await readBytes(ctx, ['text/csv'], limits.JSON_BODY), { dryRun })
    }
    ctx.body = dryRun ? await importUsers() : await audited(ctx, audit, 'user-import', { target: 'users' }, importUsers)
  })
}

function uidOf(ctx: Context): string {
  const { uid } = ctx.params as { uid: string }
  return uid.slice(0, 200)
}

function shown({ uid, username, displayName, email, enabled, permissions, mustChangePassword }: User) {
  return { uid, username, displayName, email, enabled, permissions, mustChangePassword }
}
