import { formWith } from './forms.ts'
import type { TestHost } from './host.ts'
import { askAdmin } from './users.ts'
import { bundleOf } from './zip.ts'

export type ClientSolution = {
  /** The elements of the form `main`. */
  readonly elements: readonly unknown[]
  /** Further properties of the form `main`. */
  readonly form?: Record<string, unknown>
  readonly script: string
  readonly globals?: string
  /** Properties of the manifest. By default, users don't have to sign in. */
  readonly manifest?: Record<string, unknown>
  readonly files?: Record<string, string>
}

/** Uploads a solution whose client shows one form. */
export async function addClientSolution(
  host: Pick<TestHost, 'upload'>,
  name: string,
  { elements, form: more = {}, script, globals = '', manifest = {}, files = {} }: ClientSolution,
): Promise<void> {
  const form = { 'forms/main.json': JSON.stringify({ ...formWith(...elements), ...more }), 'forms/main.js': script }
  const all = { authenticator: 'NONE', firstForm: 'main', ...manifest, name }
  const answer = await host.upload(name, await bundleOf(all, { 'globals.js': globals, ...form, ...files }))
  if (answer.status !== 201) throw new Error(await answer.text())
}

export const label = (name: string, text = '0') => ({ type: 'label', name, label: text })
/** A button whose handler has the same name. */
export const button = (name: string) => ({ type: 'button', name, label: name, onAction: name })

export type LogLine = { readonly level: string; readonly message: string; readonly code?: string }

/** Reads the lines of a solution's log, oldest first. */
export async function linesOf(host: Pick<TestHost, 'url' | 'admin'>, solution: string): Promise<readonly LogLine[]> {
  return (await askAdmin(host, 'GET', `solutions/${solution}/log?limit=1000`)).items as LogLine[]
}

/** Returns the messages that the solution's scripts have logged at the level info. */
export async function outputOf(host: Pick<TestHost, 'url' | 'admin'>, solution: string): Promise<readonly string[]> {
  return (await linesOf(host, solution)).filter(({ level }) => level === 'info').map(({ message }) => message)
}
