import { expect, test } from 'vitest'
import { CommandError } from '../../base/terminal/command.ts'
import { refuse, refuseUsers } from '../../cli/refusals.ts'

const HOST = new URL('http://127.0.0.1:8080')

test.each([
  ['a solution', refuse],
  ['users', refuseUsers],
])('if the admin account has a second factor, a command for %s says how to create a token', (_, refused) => {
  const detail = 'The admin account has a second factor.'
  const answer = { status: 403, body: { code: 'ERR_SECOND_FACTOR_NEEDED', detail }, location: null }
  const text = `${detail}
Next: create a token on the admin pages under "API tokens", set SOLHOST_TOKEN to it, and run the command again without --user.`
  expect(() => refused(answer, HOST, 'shop')).toThrow(new CommandError('refused', text))
})
