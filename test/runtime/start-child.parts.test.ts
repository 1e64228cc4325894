import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { startChild, startChildWithChannel } from '../../runtime/start-child.ts'

const ONE = 'done: [{"one":1}]'
const PROGRAM = fileURLToPath(new URL('../support/without-descriptors.ts', import.meta.url))

test('without free file descriptors, starting a process or thread fails only that start, and works again later', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-descriptors-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const command = ['-c', 'ulimit -n 120; exec "$@"', 'sh', process.execPath, '--disable-warning=ExperimentalWarning']
  const { stdout } = await promisify(execFile)('/bin/sh', [...command, PROGRAM, folder])
  const started = { sandbox: 'done: undefined', query: ONE, builder: 'done: undefined', thread: ONE }
  expect(JSON.parse(stdout)).toEqual({
    before: started,
    without: {
      sandbox: expect.stringMatching(/^the sandbox process could not be started: spawn .* EMFILE$/),
      query: 'the embedded database could not be started; ask the operator to check the host’s log',
      builder: expect.stringMatching(/"true" could not be started: .*EMFILE/),
      thread: expect.stringMatching(/^(?!done)/),
    },
    told: [expect.stringMatching(/^an embedded database’s process could not be started: spawn .* EMFILE$/)],
    after: started,
  })
})

test('start: a program that does not exist is reported as a failure', async () => {
  const started = startChild('/none/such', [], { stdio: ['ignore', 'pipe', 'pipe'] })
  expect('failure' in started && (await started.failure).message).toMatch(/ENOENT/)
})

test('start: invalid arguments are reported as a failure', async () => {
  const started = startChild(process.execPath, ['\0'], {})
  expect('failure' in started && (await started.failure).message).toMatch(/null bytes/)
})

test('start: if creating the arguments throws, a failure is reported, and nothing is started', async () => {
  const failing = () => {
    throw new Error('EMFILE: sources')
  }
  const started = startChildWithChannel('/none/such', failing, {})
  expect('failure' in started && (await started.failure).message).toBe('EMFILE: sources')
})
