import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import { waitUntil } from '../../support/wait-until.ts'

const CHANNEL = JSON.stringify(new URL('../../../runtime/sandbox/channel.ts', import.meta.url).href)

let child: ChildProcess | null = null
afterEach(() => void child?.kill('SIGKILL'))

/** Starts a process whose descriptor 3 is a channel; `onBytes` is the code of the function that receives its bytes. */
function start(onBytes: string, asSocket: boolean) {
  const code = `import { openChannel } from ${CHANNEL}
const channel = openChannel(3, ${onBytes}, () => process.exit(7), ${asSocket})`
  const started = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  child = started
  const stream = started.stdio[3] as Duplex
  const got: Buffer[] = []
  stream.on('data', (chunk: Buffer) => got.push(chunk)).on('error', () => {})
  return { stream, got: () => Buffer.concat(got).toString('latin1'), exited: once(started, 'exit') }
}

describe.each([
  ['with a duplex pipe', false],
  ['as a socket', true],
])('the channel of a sandbox process, %s', (_kind, asSocket) => {
  test('bytes arrive in both directions, also more than a pipe can hold', async () => {
    const sent = 'abcdefghij'.repeat(300_000)
    const { stream, got } = start('(bytes) => channel.write(bytes)', asSocket)
    stream.write(sent, 'latin1')
    await waitUntil(() => expect(got().length).toBe(sent.length))
    expect(got() === sent).toBe(true)
  })

  test('what is written while the channel is corked is sent once it is uncorked, in order', async () => {
    const { stream, got } = start(
      `() => {
        channel.write(Buffer.from('1'))
        channel.cork()
        channel.write(Buffer.from('2'))
        channel.cork()
        channel.write(Buffer.from('3'))
        setTimeout(() => { channel.uncork(); channel.uncork(); channel.write(Buffer.from('4')) }, 20)
      }`,
      asSocket,
    )
    stream.write('go')
    await waitUntil(() => expect(got()).toBe('1234'))
  })

  test.each([
    ['exits', 'process.exit(3)', 3],
    ['has an uncaught error', "throw new Error('of a test')", 1],
    ['has an unhandled rejection', "Promise.reject(new Error('of a test'))", 1],
  ])('a process that %s does not wait for the host', async (_what, act, code) => {
    const { stream, exited } = start(`() => setTimeout(() => { ${act} }, 20)`, asSocket)
    stream.write('x')
    expect(await exited).toEqual(asSocket ? [code, null] : [null, 'SIGTERM'])
  })

  test('the process learns that the host has closed the channel', async () => {
    const { stream, got, exited } = start('(bytes) => channel.write(bytes)', asSocket)
    stream.write('x')
    await waitUntil(() => expect(got()).toBe('x'))
    stream.destroy()
    expect(await exited).toEqual(asSocket ? [7, null] : [null, 'SIGTERM'])
  })
})
