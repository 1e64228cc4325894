import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const CLI = fileURLToPath(new URL('../../../host/cli.ts', import.meta.url))

const home = mkdtempSync(join(tmpdir(), 'solhost-home-'))
const folder = mkdtempSync(join(tmpdir(), 'solhost-folder-'))
afterAll(() => {
  for (const made of [home, folder]) rmSync(made, { recursive: true, force: true })
})

const version = (env: NodeJS.ProcessEnv) =>
  execFileSync(process.execPath, [CLI, '--version'], { env, cwd: folder, encoding: 'utf8', timeout: 25_000 })

test('what Node.js made of the sources is kept in the account’s own folder of caches, for it alone', () => {
  expect(version({ HOME: home })).toMatch(/^\d+\.\d+\.\d+\n$/)
  const caches = join(home, '.cache')
  expect(readdirSync(caches)).toEqual(['solhost'])
  expect(statSync(caches).mode & 0o777).toBe(0o700)
  const [kept = ''] = readdirSync(join(caches, 'solhost'))
  expect(readdirSync(join(caches, 'solhost', kept)).length).toBeGreaterThan(50)
})

test.each([
  ['a home that there is not', { HOME: '/proc/nothing' }],
  ['a home that is no folder', { HOME: '/dev/null' }],
  ['a relative folder of caches', { HOME: '/dev/null', XDG_CACHE_HOME: 'caches' }],
  ['an empty home', { HOME: '' }],
])('%s: nothing is kept, and all goes on', (_what, env) => {
  expect(version(env)).toMatch(/^\d+\.\d+\.\d+\n$/)
  expect(readdirSync(folder)).toEqual([])
})
