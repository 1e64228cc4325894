import { expect, test } from 'vitest'
import { takeHome } from '../../base/backup/home-lock.ts'
import { childrenOf } from '../long/processes.ts'
import { startCli, temporaryFolder } from '../support/cli.ts'
import { startTestHost } from '../support/host.ts'
import { ONE_SPARE } from '../support/one-spare.ts'

const SETTINGS = { PORT: '0', ADMIN_PORT: '0', ENVIRONMENT: 'prod', ...ONE_SPARE }

test('start: while a restore is changing the folder, a host exits with an error message of one sentence', async () => {
  using folder = temporaryFolder()
  const restore = takeHome(folder.path)
  const { ended, err } = startCli(['start'], { cwd: folder.path, env: { ...SETTINGS, PLATFORM_HOME: folder.path } })
  expect(await ended).toBe(1)
  restore.release()
  expect(err()).toMatch(
    /^A backup is being restored into .*Wait until "(npx )?solhost restore" finishes, then start the host\.\n$/,
  )
})

test('start: a second host with the same PLATFORM_HOME logs a warning', async () => {
  using folder = temporaryFolder()
  const first = await startTestHost({}, { home: folder.path })
  const second = await startTestHost({}, { home: folder.path })
  const warning = 'another host or control center uses this PLATFORM_HOME: give each its own'
  expect(second.logged()).toContain(warning)
  expect(first.logged()).not.toContain(warning)
  await second.stop()
  await first.stop()
})

test('start: a signal that a sandbox process could send does not open a debugger in the host or its launcher', async () => {
  using folder = temporaryFolder()
  const host = startCli(['start'], { cwd: folder.path, env: { ...SETTINGS, PLATFORM_HOME: `${folder.path}/home` } })
  await expect.poll(host.out).toContain('Solhost is running at')
  // The host is the launcher's child process.
  const [started] = childrenOf(host.child.pid as number)
  process.kill(started as number, 'SIGUSR1')
  host.child.kill('SIGUSR1')
  // Send some requests, so that both processes have time to handle the signal.
  const url = /http:\/\/[^\s/]+/.exec(host.out())?.[0] as string
  for (let asked = 0; asked < 20; asked++) await (await fetch(`${url}/health/live`)).text()
  process.kill(-(host.child.pid as number), 'SIGTERM')
  await host.ended
  expect(host.err()).not.toContain('Debugger listening')
})
