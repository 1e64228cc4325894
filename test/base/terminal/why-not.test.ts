import { expect, test } from 'vitest'
import { whyNot } from '../../../base/terminal/run-service.ts'

const failure = (more: object) => Object.assign(new Error('EACCES: permission denied, access /data'), more)
const WHO = `the account that runs Solhost, which has the number ${process.getuid?.()}.`

test.each([
  [{ code: 'EACCES', syscall: 'access' }, `Give it to ${WHO}`],
  [{ code: 'EPERM', syscall: 'chmod' }, `Give it to ${WHO}`],
  [{ code: 'EROFS', syscall: 'access' }, 'It lies on a file system that is read-only: mount it for writing.'],
])('why a host cannot start: a folder that it may not use (%j) is named with what to do', (more, advice) => {
  expect(whyNot(failure(more))).toBe(
    `The folder PLATFORM_HOME cannot be used: EACCES: permission denied, access /data. ${advice}`,
  )
})

test('why a host cannot start: a port that needs more rights is no fault of the folder', () => {
  expect(whyNot(failure({ code: 'EACCES', syscall: 'listen', port: 443, address: '0.0.0.0' }))).toBe(
    'Port 443 of 0.0.0.0 is for accounts with more rights. Set PORT, ADMIN_PORT, METRICS_PORT or HTTP_REDIRECT_PORT, whichever it is, to one from 1024.',
  )
})
