import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type DebugNodePlaces, findDebugNode } from '../../../host/debugger/find-debug-node.ts'

const PACKAGE = `node-24-${process.platform}-${process.arch}`

let folder: string
let places: DebugNodePlaces
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'solhost-node-'))
  places = {
    packages: join(folder, 'node_modules'),
    path: [join(folder, 'first'), join(folder, 'second')].join(delimiter),
    nvm: join(folder, 'nvm'),
    own: join(folder, 'own'),
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Prints a version number for `--version`, as Node.js does. */
function putNode(version: string, ...path: string[]): string {
  const file = join(folder, ...path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `#!/bin/sh\necho ${version}\n`)
  chmodSync(file, 0o755)
  return file
}

test('debug node: the Node.js in the project is preferred to those in PATH', async () => {
  putNode('v24.22.0', 'first', 'node')
  const node = putNode('v24.21.0', 'node_modules', PACKAGE, 'bin', 'node')
  expect(await findDebugNode(undefined, places)).toEqual({ node, version: '24.21.0' })
})

test('debug node: other versions are skipped', async () => {
  putNode('v26.10.0', 'own')
  putNode('v24.20.9', 'first', 'node')
  const node = putNode('v24.21.3', 'second', 'node')
  expect(await findDebugNode(undefined, places)).toEqual({ node, version: '24.21.3' })
})

test('debug node: nvm’s newest version 24 is used', async () => {
  putNode('v24.21.0', 'nvm', 'v24.21.0', 'bin', 'node')
  putNode('v26.1.0', 'nvm', 'v26.1.0', 'bin', 'node')
  const node = putNode('v24.100.0', 'nvm', 'v24.100.0', 'bin', 'node')
  expect(await findDebugNode(undefined, places)).toEqual({ node, version: '24.100.0' })
})

test('debug node: if there is no suitable Node.js, the error says what to do', async () => {
  putNode('v26.10.0', 'own')
  expect(await findDebugNode(undefined, places)).toEqual({
    problem: expect.stringMatching(
      /^To debug scripts, you need Node\.js 24\.21 or a later 24\.x version, which was not found\. .* --inspect-node <path> to select a Node\.js 24 binary\.$/,
    ),
  })
})

test('debug node: a configured path is used, or the error says what is wrong with it', async () => {
  putNode('v24.22.0', 'first', 'node')
  const named = putNode('v24.23.0', 'named')
  expect(await findDebugNode(named, places)).toEqual({ node: named, version: '24.23.0' })
  const old = putNode('v26.10.0', 'old')
  expect(await findDebugNode(old, places)).toEqual({
    problem: expect.stringContaining(
      `${old} is Node.js 26.10.0; to debug scripts, you need Node.js 24.21 or a later 24.x version.`,
    ),
  })
  const none = join(folder, 'none')
  expect(await findDebugNode(none, places)).toEqual({
    problem: expect.stringContaining(`${none} is not a working Node.js binary;`),
  })
})

test('debug node: the project’s development dependencies include a suitable Node.js', async () => {
  const found = await findDebugNode(undefined)
  expect(found).toEqual({ node: expect.stringContaining(PACKAGE), version: '24.21.0' })
})
