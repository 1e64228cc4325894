import { expect, test } from 'vitest'
import { whyNot } from '../../../base/terminal/run-service.ts'

const failure = (more: object) => Object.assign(new Error('EACCES: permission denied, access /data'), more)
const WHO = `the account that runs Solhost (user ID ${process.getuid?.()})`

test.each([
  [{ code: 'EACCES', syscall: 'access' }, `Make ${WHO} the owner of the folder.`],
  [{ code: 'EPERM', syscall: 'chmod' }, `Make ${WHO} the owner of the folder.`],
  [{ code: 'EROFS', syscall: 'access' }, 'The folder is on a read-only file system. Mount it as writable.'],
])(
  'why a host cannot start: the message about an inaccessible folder (%j) contains the folder and says what to do',
  (more, advice) => {
    expect(whyNot(failure(more))).toBe(
      `Cannot use the folder PLATFORM_HOME: EACCES: permission denied, access /data. ${advice}`,
    )
  },
)

test('why a host cannot start: a privileged port is not reported as a problem with the folder', () => {
  expect(whyNot(failure({ code: 'EACCES', syscall: 'listen', port: 443, address: '0.0.0.0' }))).toBe(
    'Listening on port 443 of 0.0.0.0 requires extra privileges. Change the setting that contains this port (PORT, ADMIN_PORT, METRICS_PORT or HTTP_REDIRECT_PORT) to 1024 or higher.',
  )
})
