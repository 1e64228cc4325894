import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/cli.ts'

const RUN_WITH = new URL('../../../bin/run-with.js', import.meta.url).href
const ANSWERS = fileURLToPath(new URL('../../../base/terminal/launcher.ts', import.meta.url))

/** Starts the folder's launch.mjs, which runs child.mjs. `ended` resolves with the exit code or the signal. */
function launch(folder: string, patience: number) {
  const child = spawn(process.execPath, [`${folder}/launch.mjs`, `${folder}/child.mjs`, String(patience)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { out: '', err: '' }
  child.stdout.on('data', (text) => (said.out += text))
  child.stderr.on('data', (text) => (said.err += text))
  const ended = new Promise<unknown>((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)))
  return { child, said, ended }
}

const LAUNCH = `import { runWithFittingNode } from '${RUN_WITH}'
const [script, patience] = process.argv.slice(2)
runWithFittingNode([script], { stopsWithUs: true, patience: Number(patience) })`

test('launcher: a child that ignores SIGTERM is killed, and a message says so', async () => {
  using folder = temporaryFolder({
    'launch.mjs': LAUNCH,
    'child.mjs': "process.on('SIGTERM', () => {}); process.stdout.write('ready\\n', () => { for (;;); })",
  })
  const { child, said, ended } = launch(folder.path, 100)
  await expect.poll(() => said.out).toBe('ready\n')
  child.kill('SIGTERM')
  expect(await ended).not.toBe(0)
  expect(said.err).toContain('did not respond to the stop signal')
})

test('launcher: a child that stops slowly but responds is not killed', async () => {
  using folder = temporaryFolder({
    'launch.mjs': LAUNCH,
    'child.mjs': `import { answerLauncher } from '${ANSWERS}'
answerLauncher()
process.on('message', () => process.stdout.write('asked\\n'))
process.on('SIGTERM', () => process.stdout.write('draining\\n'))
process.on('SIGHUP', () => process.exit(7))
process.stdout.write('ready\\n')`,
  })
  // The timeout is longer than any test, so only a response can end the wait.
  const { child, said, ended } = launch(folder.path, 600_000)
  await expect.poll(() => said.out).toBe('ready\n')
  child.kill('SIGTERM')
  await expect.poll(() => said.out).toContain('asked')
  expect(said.out).toContain('draining')
  child.kill('SIGHUP')
  expect(await ended).toBe(7)
  expect(said.err).toBe('')
})
