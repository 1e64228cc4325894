import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const LEAN_HTTP = JSON.stringify(new URL('../../../base/program/lean-http.ts', import.meta.url).href)

/** Runs code in a new process. @returns what it prints */
function printed(code: string): string {
  const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', code], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return stdout
}

const IMPORT = `const { createServer, STATUS_CODES } = await import('node:http')
const loaded = process.moduleLoadList.filter((name) => name.endsWith('/undici'))
console.log(JSON.stringify([typeof createServer, STATUS_CODES[404], loaded.length]))`

test('without keepHttpLean, importing node:http loads the library for fetch', () => {
  expect(JSON.parse(printed(IMPORT))).toEqual(['function', 'Not Found', 1])
})

test('with keepHttpLean, it does not; fetch and WebSocket still work', () => {
  const code = `import { keepHttpLean } from ${LEAN_HTTP}
keepHttpLean()
${IMPORT}
console.log(await (await fetch('data:,x')).text(), typeof WebSocket)`
  const [first = '', second] = printed(code).trim().split('\n')
  expect(JSON.parse(first)).toEqual(['function', 'Not Found', 0])
  expect(second).toBe('x function')
})
