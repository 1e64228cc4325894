import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { storedHash } from '../../base/database/stored-hash.ts'
import { startHostProcess } from './host-process.ts'
import { ask, createVisitor } from './http.ts'
import { bundleOf, moduleFile } from './zip.ts'

const PAGE = '/solution/crm/index.html'
/** The number of browsers that sign in at the same time. */
const BROWSERS = 8
/** The longest time that users sign in before the host is killed, in ms. */
const LONGEST = 600
const PASSWORD = 'secret-of-admin'
const SCRIPT = 'function onSolutionOpen(arg, { username }) { security.login(username, username, ["Users"]) }'

/**
 * Repeatedly kills a host with SIGKILL while users sign in, and restarts it with the same folder.
 * @returns the number of sign-ins that the host confirmed
 * @throws AssertionError if the session of a confirmed sign-in is missing, or the database is damaged
 */
export async function killSignIns(rounds: number): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-kill-sign-ins-'))
  let acknowledged = 0
  let last: string | undefined
  for (let round = 0; round < rounds; round++) {
    const { child, url, gone } = await startHostProcess(home, { SERVLET_PASSWORD: PASSWORD })
    if (round === 0) await upload(url)
    else if (last !== undefined) await checkSignedIn(url, last)
    const cookies: string[] = []
    const load = Array.from({ length: BROWSERS }, (_, browser) => signInUntilGone(url, `user-${browser}`, cookies))
    while (cookies.length === 0) await wait(10)
    await wait(((round + 1) / rounds) * LONGEST)
    child.kill('SIGKILL')
    await gone
    await Promise.all(load)
    checkStored(home, cookies)
    acknowledged += cookies.length
    last = cookies.at(-1)
  }
  rmSync(home, { recursive: true, force: true })
  return acknowledged
}

async function upload(url: string): Promise<void> {
  const manifest = { name: 'crm', authenticator: 'AUTHENTICATOR', modules: ['auth'] }
  const files = { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': SCRIPT }
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
  const headers = { authorization, 'content-type': 'application/zip' }
  const body = await bundleOf(manifest, files)
  const { status } = await ask(`${url}/admin/api/solutions/crm`, { method: 'PUT', headers, body })
  assert.equal(status, 201)
}

/** Signs in repeatedly until the host is killed. Adds the session cookie of each successful sign-in to `cookies`. */
async function signInUntilGone(url: string, username: string, cookies: string[]): Promise<void> {
  try {
    for (;;) {
      const visitor = createVisitor(url)
      await visitor.get(PAGE)
      const { status } = await visitor.post(PAGE, { username, password: 'any' })
      const cookie = visitor.cookies.get('session-crm')?.value
      if (status === 303 && cookie !== undefined) cookies.push(cookie)
    }
  } catch {
    // Ignore the error: the host was killed.
  }
}

async function checkSignedIn(url: string, cookie: string): Promise<void> {
  const { status } = await ask(`${url}/solution/crm/session`, { headers: { cookie: `session-crm=${cookie}` } })
  assert.equal(status, 200)
}

function checkStored(home: string, cookies: readonly string[]): void {
  const database = new DatabaseSync(join(home, 'platform.sqlite'))
  assert.deepEqual({ ...database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
  const found = database.prepare('select count(*) as count from sessions where id_hash = ? and ended_at is null')
  const lost = cookies.filter((cookie) => found.get(storedHash(cookie))?.count !== 1)
  database.close()
  assert.equal(lost.length, 0, `${lost.length} of ${cookies.length} acknowledged sessions are missing`)
}
