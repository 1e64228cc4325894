import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { certificateFolder } from './certificates.ts'
import { canMakeNamespaces, makeNamespace } from './network-namespace.ts'
import { waitUntil } from './wait-until.ts'

/** An Active Directory domain controller, run by Samba, for the domain `corp.test`. */
export type Samba = {
  readonly address: string
  /** The certificate authority's certificate, in PEM format. The server's certificate is for `address` only. */
  readonly ca: string
  readonly base: string
  /** Runs `samba-tool` on the domain's database, with these arguments. */
  readonly tool: (...words: readonly string[]) => void
  /** How long creating the domain took, in ms. */
  readonly provisionTime: number
  readonly isAlive: () => boolean
  readonly stop: () => Promise<void>
}

const ADMIN_PASSWORD = 'Nineteen-blue-boats-1'
const PORTS = [389, 636]

/**
 * Starts Samba in its own network namespace, because it needs fixed ports.
 * @param prepare adds people and groups before it starts
 * @throws Error if the user is not root, or if Debian's packages for Samba are not installed
 */
export async function startSamba(prepare: (samba: Pick<Samba, 'base' | 'tool'>) => void): Promise<Samba> {
  if (!existsSync('/usr/sbin/samba') || !existsSync('/usr/share/samba/setup')) {
    throw new Error('This needs Samba: install the packages samba, samba-dsdb-modules and samba-ad-provision.')
  }
  if (!canMakeNamespaces()) throw new Error('This needs root, and `ip` from the package iproute2.')
  const network = makeNamespace(0)
  const path = mkdtempSync(join(tmpdir(), 'solhost-samba-'))
  mkdirSync(join(path, 'ad'))
  using certificates = await certificateFolder()
  await certificates.issue('dc', { names: `IP:${network.address}` })
  const configuration = join(path, 'ad', 'etc', 'smb.conf')
  const base = 'DC=corp,DC=test'
  let running: ChildProcess | null = null

  function run(...words: readonly string[]): void {
    const { status, stdout, stderr } = spawnSync('samba-tool', words, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`samba-tool ${words.slice(0, 2).join(' ')} failed: ${stdout}${stderr}`)
  }
  const tool = (...words: readonly string[]) => run(...words, '-s', configuration)
  const isAlive = () => running !== null && running.exitCode === null && running.signalCode === null

  async function stop(): Promise<void> {
    if (running !== null && isAlive()) {
      const gone = new Promise((resolve) => running?.once('exit', resolve))
      // Signal the whole process group: the server and its workers.
      process.kill(-(running.pid as number), 'SIGTERM')
      await gone
    }
    network.remove()
    rmSync(path, { recursive: true, force: true, maxRetries: 10 })
  }

  try {
    const start = performance.now()
    for (const name of ['ca.pem', 'dc.pem', 'dc-key.pem']) {
      // Samba rejects a private key that other system users can read.
      writeFileSync(join(path, name), certificates.bytes(name), { mode: 0o600 })
    }
    const files = { cafile: 'ca.pem', certfile: 'dc.pem', keyfile: 'dc-key.pem' }
    const options = Object.entries(files).map(([key, name]) => `--option=tls ${key}=${join(path, name)}`)
    run(
      ...['domain', 'provision', '--realm=CORP.TEST', '--domain=CORP', '--server-role=dc', '--dns-backend=NONE'],
      ...[`--adminpass=${ADMIN_PASSWORD}`, '--host-name=dc1', `--host-ip=${network.address}`],
      ...[`--targetdir=${join(path, 'ad')}`, '--option=vfs objects=dfs_samba4 acl_xattr xattr_tdb', ...options],
    )
    const provisionTime = performance.now() - start
    prepare({ base, tool })
    const [program, ...words] = [...network.prefix, 'samba', '--interactive', '--configfile', configuration]
    running = spawn(program, words, { stdio: 'ignore', detached: true })
    await waitUntil(() => Promise.all(PORTS.map((port) => connectOnce(network.address, port))))
    const ca = certificates.bytes('ca.pem').toString()
    return { address: network.address, ca, base, tool, provisionTime, isAlive, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function connectOnce(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port }, () => {
      socket.destroy()
      resolve()
    }).once('error', reject)
  })
}
