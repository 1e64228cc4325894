import { expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import { addExamplesOnce } from '../../../host/solutions/first-examples.ts'
import type { Uploads } from '../../../host/solutions/upload.ts'
import { memoryFull } from '../../../runtime/memory-full.ts'
import { temporaryFolder } from '../../support/cli.ts'

test('a start without room for the examples continues, and the next start adds them once', async () => {
  using folder = temporaryFolder()
  const settings = readSettings({ PLATFORM_HOME: folder.path })
  const db = await openHostDatabase(settings)
  const said: string[] = []
  const log = { warn: (_: object, text: string) => void said.push(text) }
  let added = 0
  let isFull = true
  const uploads = {
    upload: async () => {
      if (isFull) throw memoryFull()
      added++
    },
  } as unknown as Uploads
  const add = () => addExamplesOnce(db, settings, uploads, log as never)
  await add()
  expect([added, said.length]).toEqual([0, 1])
  expect(said[0]).toBe(
    'the example solutions were not added; the next start tries again: The memory of this host is used up, and there are no idle ' +
      'processes left to end. Raise RUNTIME_XMX or the limit of the container, and start the host again.',
  )
  isFull = false
  await add()
  const once = added
  expect(once).toBeGreaterThan(0)
  await add()
  expect([added, said.length]).toEqual([once, 1])
  await db.destroy()
})
