import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { createScriptLab } from '../../support/solutions.ts'
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

describe('a channel that is sped up', () => {
  test('reads through the event loop, no longer with a thread', async () => {
    const report =
      'channel.write(Buffer.from(process.getActiveResourcesInfo().filter((name) => /FS|Pipe/.test(name)).join()))'
    const { stream, got } = start(`() => { channel.speedUp(); setTimeout(() => ${report}, 20) }`, false)
    stream.write('x')
    await waitUntil(() => expect(got()).toBe('PipeWrap'))
  })

  test('loses and reorders no bytes, in either direction', async () => {
    const sent = Array.from({ length: 400_000 }, (_, n) => String(n)).join()
    const { stream, got } = start(
      `(bytes) => {
        channel.cork()
        channel.write(bytes)
        channel.speedUp()
        setImmediate(() => channel.uncork())
      }`,
      false,
    )
    stream.write(sent, 'latin1')
    await waitUntil(() => expect(got().length).toBe(sent.length))
    expect(got() === sent).toBe(true)
  })

  test('a process that exits returns its exit code', async () => {
    const { stream, exited } = start('() => { channel.speedUp(); setTimeout(() => process.exit(3), 20) }', false)
    stream.write('x')
    expect(await exited).toEqual([3, null])
  })
})

describe('a sandbox process', () => {
  const lab = createScriptLab()
  afterAll(() => lab.stop())
  const script = 'function onSolutionOpen() {}'

  test('reads with a thread until it has served four sign-ins', async () => {
    for (let signIn = 0; signIn < 4; signIn++) {
      expect([signIn, isWatched()]).toEqual([signIn, false])
      await lab.run({ script })
    }
    // The next message makes the process switch.
    await waitUntil(async () => {
      await lab.run({ script })
      expect(isWatched()).toBe(true)
    })
    expect(await lab.run({ script })).toMatchObject({ failure: null })
  })

  /** Whether an event loop watches the channel. Only then is the descriptor non-blocking. */
  function isWatched(): boolean {
    const pid = lab.supervisor.processes().find(({ key }) => key !== null)?.pid
    if (pid === undefined) return false
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/3`, 'latin1'))?.[1] ?? ''
    return (Number.parseInt(flags, 8) & constants.O_NONBLOCK) !== 0
  }
})
