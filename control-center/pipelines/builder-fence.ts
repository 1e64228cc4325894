import { execFile } from 'node:child_process'
import { readlink } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * The words that a builder's command is put behind, so that it runs in a network of its own with nothing in it but the way out
 * (fenced-builder.ts). Builders' programs never ask a proxy for loopback, whatever the variables say: without this a registry that
 * redirects there would lead them to what listens on the control center's machine.
 */
export type BuilderFence = readonly string[]

/** In ms. */
const PATIENCE = 10_000
const NETWORK = '/proc/self/ns/net'

/**
 * Finds out how a network can be made: by this process, as root or with the capability SYS_ADMIN; else by the builder, where it
 * has `unshare` as buildah and podman have it for accounts with subordinate ids. It takes the programs `unshare` and `ip`.
 * @param builder the command and its own options
 * @returns null where there is no way
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

/** Whether what runs behind these words is in another network than we are, whose loopback works. */
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
