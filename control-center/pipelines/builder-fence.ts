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
 * Finds a command prefix that creates a separate network. Requires the programs `unshare` and `ip`. Root and accounts
 * with the capability SYS_ADMIN can run `unshare` directly. For accounts with subordinate UIDs, buildah and podman have
 * a subcommand `unshare` that grants the required permissions.
 * @param builder the builder's command and its own options
 * @returns null if this account can't create a separate network
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
