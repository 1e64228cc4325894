import { readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { devPassword, openDevHome } from '../../../cli/dev/dev-home.ts'
import { temporaryFolder } from '../../support/cli.ts'

test('dev home: it is created outside the solution, is readable only by its owner, and has a password that stays the same', () => {
  using state = temporaryFolder()
  using folder = temporaryFolder()
  const env = { XDG_STATE_HOME: state.path }
  const home = openDevHome(folder.path, env)
  expect(home.startsWith(join(state.path, 'solhost/dev/solhost-cli-'))).toBe(true)
  expect(statSync(home).mode & 0o777).toBe(0o700)
  const password = devPassword(home)
  expect(password).toMatch(/^[\w-]{16}$/)
  expect([openDevHome(folder.path, env), devPassword(home)]).toEqual([home, password])
  expect(statSync(join(home, 'dev-password')).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder.path)).toEqual([])
})

test('dev home: files planted in the solution are ignored; another folder with the same name has another home', () => {
  using state = temporaryFolder()
  using one = temporaryFolder({ 'shop/.solhost/dev/platform.sqlite': 'users of a stranger' })
  using other = temporaryFolder({ 'shop/solution.json': '{}' })
  const env = { XDG_STATE_HOME: state.path }
  const homes = [one, other].map(({ path }) => openDevHome(join(path, 'shop'), env))
  expect(new Set(homes).size).toBe(2)
  expect(homes.flatMap((home) => readdirSync(home))).toEqual([])
})

test('dev home: a link to a folder uses that folder’s home', () => {
  using state = temporaryFolder()
  using folder = temporaryFolder({ 'shop/solution.json': '{}' })
  const env = { XDG_STATE_HOME: state.path }
  symlinkSync(join(folder.path, 'shop'), join(folder.path, 'link'))
  expect(openDevHome(join(folder.path, 'link'), env)).toBe(openDevHome(join(folder.path, 'shop'), env))
})

test('dev home: if the folder cannot be created, the error says what to do', () => {
  using state = temporaryFolder({ file: '' })
  using folder = temporaryFolder()
  const env = { XDG_STATE_HOME: join(state.path, 'file') }
  expect(() => openDevHome(folder.path, env)).toThrow(
    /^Cannot create the data folder ".*": .*\nSet XDG_STATE_HOME to another folder/s,
  )
})
