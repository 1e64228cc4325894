import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { programName } from '../../../base/program/program-name.ts'
import { LAUNCHER, temporaryFolder } from '../../support/cli.ts'
import { INSTALLED } from '../../support/run-folder.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const named = (folder: string, environment: Record<string, string> = {}) =>
  programName('solhost', { environment, folder })

test('a printed command begins with solhost if that is installed, even in the source folder', () => {
  expect(named('/', { PATH: `/nowhere:${INSTALLED}` })).toBe('solhost')
  expect(named(ROOT, { PATH: INSTALLED })).toBe('solhost')
})

test('in a clone and its subfolders, a printed command begins with npx; folders that npm adds to PATH are ignored', () => {
  using folder = temporaryFolder()
  const own = join(folder.path, 'node_modules', '.bin')
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'solhost'), '')
  expect(named(ROOT, { PATH: own })).toBe('npx solhost')
  expect(named(join(ROOT, 'solutions', 'orders'))).toBe('npx solhost')
  expect(named('/', { npm_command: 'exec', PATH: INSTALLED })).toBe('npx solhost')
  expect(programName('control-center', { environment: {}, folder: ROOT })).toBe('npm run control-center --')
})

test('elsewhere, a printed command runs the launcher by its path, quoted for the shell', () => {
  using folder = temporaryFolder({ 'my shop/package.json': '{}' })
  const inside = join(folder.path, 'my shop')
  const command = named(inside)
  expect(command).toMatch(/^node \S+bin\/solhost\.js$/)
  expect(execFileSync('sh', ['-c', `${command} version`], { cwd: inside, encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+/)
})

test('the command printed after "Next:" works where it was printed', () => {
  using folder = temporaryFolder()
  const run = { cwd: folder.path, encoding: 'utf8', env: { PATH: process.env.PATH } } as const
  const printed = execFileSync(process.execPath, [LAUNCHER, 'init', 'shop'], run)
  const check = /^ {2}(.*) test shop /m.exec(printed)?.[1] ?? ''
  expect(spawnSync('sh', ['-c', `${check} check shop`], run)).toMatchObject({ status: 0 })
})
