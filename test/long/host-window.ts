import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startHostProcess } from '../support/host-process.ts'
import { ask } from '../support/http.ts'
import { childrenOf, isSandboxProcess } from './processes.ts'

export type Question =
  | { readonly kind: 'processes' }
  | { readonly kind: 'kill'; readonly pid: number }
  | { readonly kind: 'heap' }

/** A sandbox process as the host sees it. `key` (name@sha256) is null for a spare process. */
export type Seen = { readonly pid: number; readonly key: string | null; readonly calls: number }

export type WatchedHost = Awaited<ReturnType<typeof startWatchedHost>>

const WATCHED_HOST = fileURLToPath(new URL('./watched-host.ts', import.meta.url))
const PASSWORD = 'admin of a long run'
const AUTHORIZATION = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
/** The timeout for all waits, in ms. */
const PATIENCE = 60_000

/** Starts a host process with its own folder, without examples. @param before see `startHostProcess` */
export async function startWatchedHost(
  properties: Record<string, string>,
  fillHome: (home: string) => void = () => {},
  before: readonly string[] = [],
) {
  const home = mkdtempSync(join(tmpdir(), 'solhost-long-'))
  fillHome(home)
  const settings = { SERVLET_PASSWORD: PASSWORD, LOG_LEVEL: 'warn', ...properties }
  const { child, url, output, gone } = await startHostProcess(home, settings, WATCHED_HOST, before).catch(
    (error: Error) => {
      rmSync(home, { recursive: true, force: true })
      throw error
    },
  )
  const pid = child.pid as number
  const waiting = new Map<number, (answer: unknown) => void>()
  let lastId = 0
  let ended = false
  gone.then(() => {
    ended = true
  })
  child.on('message', ({ id, answer }: { id: number; answer: unknown }) => {
    waiting.get(id)?.(answer)
    waiting.delete(id)
  })

  function asked(question: Question): Promise<unknown> {
    if (ended) throw new Error(`the host ended: ${output()}`)
    return new Promise((resolve) => {
      const id = ++lastId
      waiting.set(id, resolve)
      child.send({ id, question })
    })
  }

  const processes = () => asked({ kind: 'processes' }) as Promise<readonly Seen[]>

  async function upload(name: string, bundle: Uint8Array): Promise<void> {
    const headers = { authorization: AUTHORIZATION, 'content-type': 'application/zip' }
    const answer = await ask(`${url}/admin/api/solutions/${name}`, { method: 'PUT', headers, body: bundle })
    if (answer.status !== 201)
      throw new Error(`the upload of ${name} was answered with ${answer.status}: ${answer.text}`)
  }

  /** Waits until no process serves a solution. The host stops idle processes after `SANDBOX_IDLE`. */
  async function untilAtRest(): Promise<void> {
    await until('the sandbox processes to be retired', async () => (await processes()).every(({ key }) => key === null))
    // Waits until the sockets of the last responses are closed, and killed processes are reaped.
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }

  /** Stops the host. @returns how many of its sandbox processes are still alive */
  async function stop(): Promise<number> {
    const children = childrenOf(pid)
    child.kill('SIGTERM')
    const slow = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
    await gone
    clearTimeout(slow)
    rmSync(home, { recursive: true, force: true })
    await new Promise((resolve) => setTimeout(resolve, 500))
    return children.filter(isSandboxProcess).length
  }

  return {
    pid,
    url,
    processes,
    upload,
    /** Uploads a bundle. The upload may be rejected; the caller checks the response. */
    tryUpload: (name: string, bundle: Uint8Array) =>
      ask(`${url}/admin/api/solutions/${name}`, {
        method: 'PUT',
        headers: { authorization: AUTHORIZATION, 'content-type': 'application/zip' },
        body: bundle,
      }),
    hasEnded: () => ended,
    output,
    untilAtRest,
    stop,
    /**
     * Kills a sandbox process.
     * @returns the solution that the process served, or null if it was being prepared for one
     */
    kill: (victim: number) => asked({ kind: 'kill', pid: victim }) as Promise<Seen | null>,
    /** The size of the host's heap after garbage collection, in bytes. */
    heap: () => asked({ kind: 'heap' }) as Promise<number>,
    /** A solution in the admin API's format. */
    shown: async (name: string) =>
      (await ask(`${url}/admin/api/solutions/${name}`, { headers: { authorization: AUTHORIZATION } })).json() as {
        state: string
      },
  }
}

export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${PATIENCE / 1000} s were not enough for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
