import { execFile } from 'node:child_process'
import { readlink } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * A command prefix that runs a builder in a separate network. The only way out of this network is the builder's proxy
 * (fenced-builder.ts). Builders never use a proxy for loopback, whatever the proxy variables contain. Without a
 * separate network, a registry could therefore redirect them to services on the control center's machine.
 */
export type BuilderFence = readonly string[]

/** Timeout in ms for each attempt to create a network. */
const PATIENCE = 10_000
const NETWORK = '/proc/self/ns/net'

/**
 * Finds a way to create a network. As root or with the capability SYS_ADMIN, this process creates it. Otherwise, the
 * builder's own subcommand `unshare` creates it; buildah and podman support this for accounts with subordinate UIDs.
 * Requires the programs `unshare` and `ip`.
 * @param builder the command and its own options
 * @returns null if there is no way
 */
export async function findBuilderFence(builder: readonly string[]): Promise<BuilderFence | null> {
  const own = ['unshare', '--net', '--']
  for (const way of [own, [...builder, 'unshare', ...own]]) {
    if (await makesNetwork(way)) {
      return [...way, process.execPath, fileURLToPath(new URL('./fenced-builder.ts', import.meta.url))]
    }
  }
  return null
}

/** Whether a command with this prefix runs in a network namespace that differs from ours and has working loopback. */
async function makesNetwork([program = '', ...options]: readonly string[]): Promise<boolean> {
  const look = ['sh', '-c', `ip link set lo up && readlink ${NETWORK}`]
  try {
    const own = await readlink(NETWORK)
    const { stdout } = await promisify(execFile)(program, [...options, ...look], { timeout: PATIENCE })
    return /^net:\[\d+\]$/.test(stdout.trim()) && stdout.trim() !== own
  } catch {
    return false
  }
}
