import type { TestHost } from './host.ts'
import { ask, createVisitor } from './http.ts'
import { bundleOf, moduleFile } from './zip.ts'

/** How to reach a host, or a load balancer in front of several hosts: the URL, and the admin account's header. */
type Reached = Pick<TestHost, 'url' | 'admin'>

/**
 * Sends a request to the admin API.
 * @returns the response's JSON
 * @throws Error if the status is not the expected one
 */
export async function askAdmin(
  host: Reached,
  method: string,
  path: string,
  body?: unknown,
  status = method === 'POST' ? 201 : 200,
): Promise<Record<string, unknown>> {
  const answer = await ask(`${host.url}/admin/api/${path}`, {
    method,
    headers: { authorization: host.admin, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (answer.status !== status) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`)
  return answer.text === '' ? {} : (answer.json() as Record<string, unknown>)
}

export const PASSWORD = 'seven green tractors'

/**
 * Creates a user.
 * @returns the user's uid
 */
export async function addUser(host: Reached, username: string, more: Record<string, unknown> = {}): Promise<string> {
  const user = { username, password: PASSWORD, permissions: ['Users'], mustChangePassword: false, ...more }
  return (await askAdmin(host, 'POST', 'users', user)).uid as string
}

/** Uploads a solution whose users are in the users table. */
export async function addDefaultSolution(
  host: Pick<TestHost, 'upload'>,
  name: string,
  manifest: Record<string, unknown> = {},
  files: Record<string, string> = {},
): Promise<void> {
  const answer = await host.upload(name, await bundleOf({ name, authenticator: 'DEFAULT', ...manifest }, files))
  if (answer.status !== 201) throw new Error(await answer.text())
}

/** Uploads a solution with this authenticator script. */
export async function addAuthenticatorSolution(
  host: Pick<TestHost, 'upload'>,
  name: string,
  script: string,
  manifest: Record<string, unknown> = {},
  files: Record<string, string> = {},
): Promise<void> {
  const bundle = await bundleOf(
    { name, authenticator: 'AUTHENTICATOR', modules: ['auth'], ...manifest },
    { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': script, ...files },
  )
  const answer = await host.upload(name, bundle)
  if (answer.status !== 201) throw new Error(await answer.text())
}

/**
 * Opens a solution's login page in a simulated browser.
 * @returns the browser
 */
export async function visit(host: Pick<TestHost, 'url'>, solution: string, defaults: Record<string, string> = {}) {
  const page = `/solution/${solution}/index.html`
  const visitor = createVisitor(host.url, defaults)
  await visitor.get(page)
  return {
    ...visitor,
    page,
    signIn: (username: string, password = PASSWORD, more: Record<string, string> = {}) =>
      visitor.post(page, { username, password, ...more }),
    open: (headers: Record<string, string> = {}) => visitor.get(page, headers),
    session: () => visitor.get(`/solution/${solution}/session`),
    logOut: () => visitor.post(`/solution/${solution}/logout`, {}),
    cookie: (kind: string) => visitor.cookies.get(`${kind}-${solution}`)?.value,
    /** Closes the browser: cookies without a max age are deleted. */
    close() {
      for (const kind of ['session', 'login']) visitor.cookies.delete(`${kind}-${solution}`)
    },
  }
}
