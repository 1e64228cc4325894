import { expect, test } from 'vitest'
import { createFollowers } from '../../base/http/followers.ts'
import type { Access } from '../../control-center/access/access.ts'
import type { Run } from '../../control-center/pipelines/run-rows.ts'
import { followRun } from '../../control-center/pipelines/run-stream.ts'
import type { Runs } from '../../control-center/pipelines/runs.ts'
import { koaContext } from '../support/koa-context.ts'

test('a person can follow up to ten runs at a time; a stream that failed or ended frees its slot', async () => {
  let isDown = false
  let followed = 0
  const runs = {
    async follow() {
      if (isDown) throw new Error('the database is down')
      followed++
      return () => void followed--
    },
  } as unknown as Runs
  const parts = { runs, access: { stillHas: async () => true } as unknown as Access, followers: createFollowers() }
  const follow = async (who: string) => {
    const ctx = koaContext()
    await followRun(ctx, { id: 'one', number: 7 } as Run, who, parts)
    return ctx
  }
  isDown = true
  await expect(follow('user:anna')).rejects.toThrow('the database is down')
  isDown = false
  const open = []
  for (let one = 0; one < 10; one++) open.push(await follow('user:anna'))
  await expect(follow('user:anna')).rejects.toMatchObject({ code: 'ERR_THROTTLED' })
  open.push(await follow('user:bert'))
  expect(followed).toBe(11)
  open[0]?.req.emit('close')
  open.push(await follow('user:anna'))
  for (const { req } of open) req.emit('close')
  expect(followed).toBe(0)
})
