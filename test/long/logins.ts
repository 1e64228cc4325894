import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { type Answer, createVisitor } from '../support/http.ts'
import { bundleOf, moduleFile, zipOf } from '../support/zip.ts'

export type LoginEnd = {
  /** The problem; null if the user is signed in. */
  readonly problem: string | null
  /** The time from submitting the form to the response, in ms. */
  readonly milliseconds: number
  /** The `Retry-After` header, if the login was rejected. */
  readonly retryAfter?: string | undefined
}

/** Signs in a user in a new browser: requests the login page, submits the form and reads the session. */
export async function logIn(url: string, solution: string, fields: Record<string, string>): Promise<LoginEnd> {
  const page = `/solution/${solution}/index.html`
  const visitor = createVisitor(url)
  let milliseconds = Number.NaN
  try {
    const shown = await visitor.get(page)
    if (shown.status !== 200) return { problem: `login page ${shown.status}`, milliseconds, ...retryAfterOf(shown) }
    const start = performance.now()
    const answer = await visitor.post(page, fields)
    milliseconds = performance.now() - start
    if (answer.status !== 303) return { problem: `form ${answer.status}`, milliseconds, ...retryAfterOf(answer) }
    const session = await visitor.get(`/solution/${solution}/session`)
    const isTheirs = session.status === 200 && session.text.includes(`"username":"${fields.username}"`)
    return { problem: isTheirs ? null : `session ${session.status}`, milliseconds }
  } catch (error) {
    return { problem: (error as NodeJS.ErrnoException).code ?? String(error), milliseconds }
  }
}

function retryAfterOf({ headers }: Answer): Pick<LoginEnd, 'retryAfter'> {
  return { retryAfter: headers['retry-after'] }
}

/** Builds a solution with this authenticator script. */
export function scriptBundle(name: string, script: string): Promise<Uint8Array> {
  return bundleOf(
    { name, authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': script },
  )
}

export const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }

/** The example `tenant-login` under another name. It accepts the user Anna. */
export function exampleBundle(name: string): Promise<Uint8Array> {
  const folder = exampleFolder('tenant-login')
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).replace(/^\//, ''))
  const files = Object.fromEntries(names.map((file) => [file, readFileSync(join(folder, file))]))
  const manifest = JSON.parse(readFileSync(join(folder, 'solution.json'), 'utf8')) as object
  return zipOf({ ...files, 'solution.json': JSON.stringify({ ...manifest, name, title: `Solution ${name}` }) })
}

/** Runs `work` for all items, at most `width` at a time. */
export async function forEach<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const item of left) await work(item)
    }),
  )
}
