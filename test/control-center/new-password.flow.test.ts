import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OWNER, signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'

const COMMAND = fileURLToPath(new URL('../../bin/control-center.js', import.meta.url))

let center: TestCenter
beforeAll(async () => {
  center = await startTestCenter()
})
afterAll(() => center?.stop())

function run(...given: string[]) {
  return runIn(center.home, ...given)
}

function runIn(home: string, ...given: string[]) {
  const env = { ...process.env, PLATFORM_HOME: home }
  return promisify(execFile)(process.execPath, [COMMAND, ...given], { env }).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, text: stderr }),
  )
}

test('new-password: the account is signed out, and can be used only with the new password, which must be changed', async () => {
  const before = await signInToCenter(center)
  const { code, text } = await run('new-password', OWNER)
  const password = /is (\S+)\n/.exec(text)?.[1] ?? ''
  expect([code, password.length]).toEqual([0, 24])
  await expect.poll(async () => (await before.get('/organisations')).status).toBe(302)
  const { users } = center.parts
  expect(await users.authenticate(OWNER, password)).toMatchObject({ username: OWNER, mustChangePassword: true })
  await expect(signInToCenter(center)).rejects.toThrow('answered 401')
})

test('new-password: an unknown account and an unknown command are reported', async () => {
  expect(await run('new-password', 'nobody@example.org')).toEqual({
    code: 1,
    text: 'There is no account "nobody@example.org". Check the email address.\n',
  })
  expect(await run('restart')).toMatchObject({
    code: 2,
    text: expect.stringMatching(/^There is no command "restart"\./),
  })
  expect(await run('new-password')).toMatchObject({
    code: 2,
    text: expect.stringMatching(/^The arguments of "new-password" are invalid\./),
  })
  expect(await run('--help')).toMatchObject({ code: 0, text: expect.stringMatching(/^Without a command/) })
})

test.each(['new-password', 'reset-second-factor'])(
  '%s: if PLATFORM_HOME is wrong, the command says so and creates nothing',
  async (command) => {
    const home = join(center.home, 'wrong')
    const { code, text } = await runIn(home, command, OWNER)
    expect([code, text]).toEqual([1, expect.stringContaining('does not exist. Nothing was changed. Set PLATFORM_HOME')])
    expect(existsSync(home)).toBe(false)
  },
)
