import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { startHostProcess } from './host-process.ts'
import { ask } from './http.ts'
import { bundleOf } from './zip.ts'

type Versions = { readonly active: string; readonly versions: readonly { sha256: string; version: string }[] }

/**
 * The longest time between the start of an upload and the kill, as a multiple of the shortest duration of an upload so
 * far. Machines differ too much for a fixed time, and the first upload can take several times as long as the next one.
 */
const LONGEST = 1.3

/**
 * Repeatedly kills a host with SIGKILL during an upload, a little later each time, and restarts it with the same
 * folder.
 * @returns the number of interrupted uploads
 * @throws AssertionError if the database does not open, or the active version is neither the old nor the new one
 */
export async function killUploads(rounds: number): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-kill-'))
  let active = ''
  let sent = ''
  let interrupted = 0
  let longest = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const { child, url, gone } = await startHostProcess(home, { SERVLET_PASSWORD: PASSWORD })
    if (round > 0) active = await checkVersions(url, active, sent)
    sent = `1.0.${round}`
    const begun = performance.now()
    const upload = uploadTo(url, sent).then((end) => ({ end, duration: performance.now() - begun }))
    // Let the first upload finish, so later ones have a previous version.
    if (round === 0) await upload
    else await wait(((round - 1) / (rounds - 1)) * longest)
    child.kill('SIGKILL')
    await gone
    const { end, duration } = await upload
    if (end === 'interrupted') interrupted++
    else longest = Math.min(longest, duration * LONGEST)
    const database = new DatabaseSync(join(home, 'platform.sqlite'))
    assert.deepEqual({ ...database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
    database.close()
  }
  rmSync(home, { recursive: true, force: true })
  return interrupted
}

const PASSWORD = 'secret-of-admin'
const HEADERS = { authorization: `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}` }

/**
 * Checks that the last upload is either active or doesn't exist. In the second case, the previous version must be
 * active.
 */
async function checkVersions(url: string, before: string, sent: string): Promise<string> {
  const answer = await ask(`${url}/admin/api/solutions/crm`, { headers: HEADERS })
  const { active, versions } = answer.json() as Versions
  const now = versions.find(({ sha256 }) => sha256 === active)?.version ?? 'none'
  assert.ok([before, sent].includes(now), `"${now}" is active, and neither "${before}" nor "${sent}"`)
  const isSentThere = versions.some(({ version }) => version === sent)
  assert.equal(isSentThere, now === sent)
  assert.equal((await ask(`${url}/solution/crm/index.html`)).status, 200)
  assert.equal((await ask(`${url}/solution/crm/media/which.txt`)).text, now)
  return now
}

async function uploadTo(url: string, version: string): Promise<'answered' | 'interrupted'> {
  const body = await bundleOf(
    { name: 'crm', authenticator: 'NONE', version },
    { 'media/which.txt': version, 'media/big.bin': randomBytes(200_000) },
  )
  const headers = { ...HEADERS, 'content-type': 'application/zip' }
  return ask(`${url}/admin/api/solutions/crm`, { method: 'PUT', headers, body }).then(
    () => 'answered',
    () => 'interrupted',
  )
}
