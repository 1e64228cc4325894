import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const CLI = fileURLToPath(new URL('../../cli/entry.ts', import.meta.url))

const VERSION = /^\d+\.\d+\.\d+ \(\S+, Node\.js \d+\.\d+\.\d+\)\n$/

const home = mkdtempSync(join(tmpdir(), 'solhost-home-'))
const folder = mkdtempSync(join(tmpdir(), 'solhost-folder-'))
afterAll(() => {
  for (const made of [home, folder]) rmSync(made, { recursive: true, force: true })
})

const run = (word: string, env: NodeJS.ProcessEnv) =>
  execFileSync(process.execPath, [CLI, word], { env, cwd: folder, encoding: 'utf8', timeout: 25_000 })

test('Node.js’s compile cache is in the account’s cache folder, readable only by that account', () => {
  expect(run('--version', { HOME: home })).toMatch(VERSION)
  const caches = join(home, '.cache')
  expect(readdirSync(caches)).toEqual(['solhost'])
  expect(statSync(caches).mode & 0o777).toBe(0o700)
  const [kept = ''] = readdirSync(join(caches, 'solhost'))
  const countKept = () => readdirSync(join(caches, 'solhost', kept)).length
  const ofVersion = countKept()
  // The version option loads no command, because commands are loaded on demand.
  expect(ofVersion).toBeLessThan(30)
  run('help', { HOME: home })
  expect(countKept()).toBeGreaterThan(4 * ofVersion)
})

test.each([
  ['a missing home folder', { HOME: '/proc/nothing' }],
  ['a home folder that is not a folder', { HOME: '/dev/null' }],
  ['a relative cache folder', { HOME: '/dev/null', XDG_CACHE_HOME: 'caches' }],
  ['an empty HOME', { HOME: '' }],
])('with %s, nothing is cached, and the command still works', (_what, env) => {
  expect(run('--version', env)).toMatch(VERSION)
  expect(readdirSync(folder)).toEqual([])
})
