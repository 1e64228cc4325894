import { ask } from './http.ts'
import { bundleOf, moduleFile } from './zip.ts'

/**
 * Creates a solution with a slow login. If the login form's field `custom_wait` is "yes", the script writes a log line
 * and runs for a second.
 */
export const slowSolution = (name = 'slow') =>
  bundleOf(
    { name, authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': `function onSolutionOpen(arg, q) {
        if (q.custom_wait === 'yes') { console.log('waiting'); const end = Date.now() + 1000; while (Date.now() < end); }
        security.login(q.username, 'u', ['Users'])
      }`,
    },
  )

/** Waits until `times` slow logins have started in the solution. */
export async function untilSlowLogin(url: string, authorization: string, times = 1, name = 'slow'): Promise<void> {
  const isWaiting = async () => {
    const log = await ask(`${url}/admin/api/solutions/${name}/log`, { headers: { authorization } })
    return log.text.split('"waiting"').length > times
  }
  while (!(await isWaiting())) await new Promise((resolve) => setTimeout(resolve, 10))
}
