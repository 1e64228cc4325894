import { expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import { addExamplesOnce } from '../../../host/solutions/first-examples.ts'
import type { Uploads } from '../../../host/solutions/upload.ts'
import { memoryFull } from '../../../runtime/memory-full.ts'
import { temporaryFolder } from '../../support/cli.ts'

test('if there is no space for the examples, startup continues, and the next start adds them once', async () => {
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
  let created = 0
  const exampleUsers = { create: async () => void created++ }
  const add = () => addExamplesOnce(db, settings, uploads, exampleUsers, log as never)
  expect(await add()).toBe(false)
  expect([added, created, said.length]).toEqual([0, 0, 1])
  expect(said[0]).toBe(
    'the example solutions were not added (the host tries again at its next start): This host has used all its memory, and there are ' +
      'no idle processes left to stop. Raise RUNTIME_XMX or the container’s memory limit, and start the host again.',
  )
  isFull = false
  expect(await add()).toBe(true)
  const once = added
  expect(once).toBeGreaterThan(0)
  expect(await add()).toBe(true)
  expect([added, created, said.length]).toEqual([once, 1, 1])
  await db.destroy()
})

test.each([
  ['HOST=0.0.0.0', { HOST: '0.0.0.0' }],
  ['ENVIRONMENT=prod', { ENVIRONMENT: 'prod' }],
  ['SOLUTIONS_FOLDER', { SOLUTIONS_FOLDER: '/solutions' }],
])(
  'with %s, the first start adds neither examples nor their users, and neither do later starts on loopback',
  async (_name, given) => {
    using folder = temporaryFolder()
    const home = { PLATFORM_HOME: folder.path }
    const db = await openHostDatabase(readSettings(home))
    const never = () => expect.fail('nothing may be added')
    for (const settings of [readSettings({ ...home, ...given }), readSettings(home)])
      expect(await addExamplesOnce(db, settings, { upload: never } as never, { create: never }, {} as never)).toBe(
        false,
      )
    await db.destroy()
  },
)
