import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/cli.ts'
import { startTestHost, type TestHost } from '../../support/host.ts'
import { bundleOf } from '../../support/zip.ts'

async function shown(host: TestHost, name: string) {
  const answer = await fetch(`${host.url}/admin/api/solutions/${name}`, { headers: { authorization: host.admin } })
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
  return { status: answer.status, body: (await answer.json()) as any }
}

const sha256Of = (bundle: Uint8Array) => hash('sha256', bundle, 'hex')

/** A PLATFORM_HOME and a solutions folder that persist between starts, as a container's volumes do. */
function places(folder: string) {
  const [home, solutions] = [join(folder, 'home'), join(folder, 'solutions')]
  mkdirSync(solutions)
  return { home, solutions, start: () => startTestHost({ SOLUTIONS_FOLDER: solutions }, { home }) }
}

test('a solution in SOLUTIONS_FOLDER is active after startup, and a new image updates it', async () => {
  using folder = temporaryFolder()
  const { solutions, start } = places(folder.path)
  const [first, second] = [await bundleOf({ name: 'shop' }), await bundleOf({ name: 'shop', version: '2.0.0' })]
  writeFileSync(join(solutions, 'shop.zip'), first)
  let host = await start()
  expect((await shown(host, 'shop')).body).toMatchObject({ state: 'active', active: sha256Of(first) })
  await host.stop()
  writeFileSync(join(solutions, 'shop.zip'), second)
  host = await start()
  const { body } = await shown(host, 'shop')
  expect([body.active, body.versions.length]).toEqual([sha256Of(second), 2])
  await host.stop()
})

test('a version activated after the first start stays active when the host restarts', async () => {
  using folder = temporaryFolder()
  const { solutions, start } = places(folder.path)
  const [baked, later] = [await bundleOf({ name: 'shop' }), await bundleOf({ name: 'shop', version: '2.0.0' })]
  writeFileSync(join(solutions, 'shop.zip'), baked)
  let host = await start()
  expect((await host.upload('shop', later)).status).toBe(201)
  await host.stop()
  host = await start()
  expect((await shown(host, 'shop')).body.active).toBe(sha256Of(later))
  await host.stop()
})

test('invalid solutions are logged, and startup continues with the others', async () => {
  using folder = temporaryFolder()
  const { solutions, start } = places(folder.path)
  writeFileSync(join(solutions, 'broken.zip'), await bundleOf({ name: 'broken' }, { 'globals.js': 'function (' }))
  writeFileSync(join(solutions, 'no-zip.zip'), 'no zip')
  writeFileSync(join(solutions, 'other.zip'), await bundleOf({ name: 'another' }))
  mkdirSync(join(solutions, 'folder.zip'))
  writeFileSync(join(solutions, 'build.json'), '{}')
  writeFileSync(join(solutions, 'shop.zip'), await bundleOf({ name: 'shop' }))
  const host = await start()
  expect(await host.solutionNames()).toEqual(['shop'])
  for (const name of ['broken', 'no-zip', 'other', 'folder']) {
    expect(host.logged()).toContain(`the solution ${join(solutions, `${name}.zip`)} was not added`)
  }
  expect(host.logged()).toContain('globals.js')
  await host.stop()
})

test('a missing folder is logged, and no examples are added', async () => {
  using folder = temporaryFolder()
  const missing = join(folder.path, 'missing')
  const host = await startTestHost({ SOLUTIONS_FOLDER: missing, ENVIRONMENT: 'none' })
  expect(host.logged()).toContain(`SOLUTIONS_FOLDER=${missing} cannot be read`)
  expect(await host.solutionNames()).toEqual([])
  await host.stop()
})
