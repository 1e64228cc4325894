import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { holdHome, isRestoreUnfinished, markRestore, takeHome } from '../../../base/backup/home-lock.ts'
import { temporaryFolder } from '../../support/cli.ts'

const IN_USE = { code: 'ERR_PLATFORM_IN_USE' }

test('home lock: several hosts can use a folder at the same time, and no restore can start while they do', () => {
  using folder = temporaryFolder()
  const home = join(folder.path, 'home')
  const first = holdHome(home)
  const second = holdHome(home)
  expect([first.isFirst, second.isFirst]).toEqual([true, false])
  expect(statSync(join(home, 'in-use')).mode & 0o777).toBe(0o600)
  expect(() => takeHome(home)).toThrow(expect.objectContaining(IN_USE))
  first.release()
  expect(() => takeHome(home)).toThrow(expect.objectContaining(IN_USE))
  second.release()
  takeHome(home).release()
})

test('home lock: while a restore runs, neither a host nor a second restore can start', () => {
  using folder = temporaryFolder()
  const restore = takeHome(folder.path)
  expect(() => holdHome(folder.path)).toThrow(/is being restored/)
  expect(() => takeHome(folder.path)).toThrow(expect.objectContaining(IN_USE))
  restore.release()
  holdHome(folder.path).release()
})

test('home lock: after an interrupted restore no host starts, and the error says what to do', () => {
  using folder = temporaryFolder()
  const mark = markRestore(folder.path)
  expect(isRestoreUnfinished(folder.path)).toBe(true)
  expect(() => holdHome(folder.path)).toThrow(/was interrupted.*"(npx )?solhost restore" again with --replace/s)
  takeHome(folder.path).release()
  mark.end()
  holdHome(folder.path).release()
})
