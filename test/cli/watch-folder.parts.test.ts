import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { watchFolder } from '../../cli/dev/watch-folder.ts'
import { temporaryFolder } from '../support/cli.ts'
import { waitUntil } from '../support/wait-until.ts'

function watched(files: Record<string, string> = { 'solution.json': '{}', 'forms/a.json': '{}' }) {
  const folder = temporaryFolder(files)
  const changed = vi.fn<(since: number) => void>()
  const gone = vi.fn<() => void>()
  const failed = vi.fn<(problem: Error) => void>()
  const watch = watchFolder(folder.path, { changed, gone, failed })
  const path = (name: string) => join(folder.path, name)
  return {
    changed,
    gone,
    failed,
    path,
    count: watch.count,
    folder: folder.path,
    told: (times: number) => waitUntil(() => expect(changed).toHaveBeenCalledTimes(times)),
    [Symbol.dispose]() {
      watch.close()
      folder[Symbol.dispose]()
    },
  }
}

test('watch: a burst of writes, renames and removals is reported once, with the time it began', async () => {
  using one = watched()
  const before = performance.now()
  writeFileSync(one.path('solution.json'), '')
  writeFileSync(one.path('solution.json'), '{ }')
  writeFileSync(one.path('forms/new.json'), '{}')
  renameSync(one.path('forms/new.json'), one.path('forms/b.json'))
  rmSync(one.path('forms/a.json'))
  const after = performance.now()
  await one.told(1)
  const [since = 0] = one.changed.mock.calls[0] ?? []
  expect(since).toBeGreaterThanOrEqual(before)
  expect(since).toBeLessThan(after + 10_000)
  writeFileSync(one.path('forms/b.json'), '{ }')
  await one.told(2)
})

test('watch: new folders are watched, and removed ones no longer are', async () => {
  using one = watched()
  expect(one.count()).toBe(2)
  mkdirSync(one.path('modules/auth'), { recursive: true })
  await waitUntil(() => expect(one.count()).toBe(4))
  const before = one.changed.mock.calls.length
  writeFileSync(one.path('modules/auth/globals.js'), '')
  await waitUntil(() => expect(one.changed.mock.calls.length).toBeGreaterThan(before))
  rmSync(one.path('modules'), { recursive: true })
  await waitUntil(() => expect(one.count()).toBe(2))
})

test('watch: a folder that is removed and recreated within one burst, as git does, is watched again', async () => {
  using one = watched()
  rmSync(one.path('forms'), { recursive: true })
  mkdirSync(one.path('forms'))
  await one.told(1)
  writeFileSync(one.path('forms/a.json'), '{}')
  await one.told(2)
  expect([one.count(), one.failed.mock.calls]).toEqual([2, []])
})

test('watch: files that are not part of the solution are neither watched nor reported', async () => {
  using one = watched({ 'solution.json': '{}', 'node_modules/x/index.js': '', '.solhost/dev/x': '', '.git/HEAD': '' })
  expect(one.count()).toBe(1)
  writeFileSync(one.path('.solhost/dev/x'), 'x')
  for (const name of ['solution.json~', '.solution.json.swp', '#solution.json#', 'solhost.d.ts', 'a.test.js']) {
    writeFileSync(one.path(name), 'x')
  }
  const later = performance.now()
  writeFileSync(one.path('solution.json'), '{ }')
  await one.told(1)
  expect(one.changed.mock.calls[0]?.[0]).toBeGreaterThanOrEqual(later)
})

test('watch: the removal of the folder itself is reported', async () => {
  using one = watched()
  rmSync(one.folder, { recursive: true })
  await waitUntil(() => expect(one.gone).toHaveBeenCalledOnce())
})
