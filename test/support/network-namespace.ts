import { spawnSync } from 'node:child_process'

/** A network namespace, which simulates a separate machine. It has its own address and a connection to this machine. */
export type NetworkNamespace = {
  readonly name: string
  /** The command-line prefix that runs a command in the namespace. */
  readonly prefix: readonly [program: string, ...options: string[]]
  readonly address: string
  /** This machine's address, as seen from the namespace. */
  readonly outside: string
  readonly remove: () => void
}

/** Whether this machine can create a network namespace. This requires root, and `ip` from Debian's iproute2. */
export function canMakeNamespaces(): boolean {
  const name = `sh${process.pid}t`
  if (process.getuid?.() !== 0 || spawnSync('ip', ['netns', 'add', name]).status !== 0) return false
  return spawnSync('ip', ['netns', 'delete', name]).status === 0
}

/**
 * Creates a network namespace.
 * @param number from 0 to 63, different for each namespace that the process creates
 * @throws Error when `ip` fails
 */
export function makeNamespace(number: number): NetworkNamespace {
  const name = `sh${process.pid}n${number}`
  const near = `sh${process.pid % 100_000}a${number}`
  const far = `sh${process.pid % 100_000}b${number}`
  // Use addresses from 198.18.0.0/15, which RFC 2544 reserves for benchmarks.
  const network = `198.18.${process.pid % 256}`
  const outside = `${network}.${number * 4 + 1}`
  const address = `${network}.${number * 4 + 2}`
  run('netns', 'add', name)
  try {
    run('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', name)
    run('address', 'add', `${outside}/30`, 'dev', near)
    run('link', 'set', near, 'up')
    run('-n', name, 'address', 'add', `${address}/30`, 'dev', far)
    run('-n', name, 'link', 'set', far, 'up')
    run('-n', name, 'link', 'set', 'lo', 'up')
  } catch (error) {
    remove()
    throw error
  }

  function remove(): void {
    spawnSync('ip', ['link', 'delete', near])
    spawnSync('ip', ['netns', 'delete', name])
  }

  return { name, prefix: ['ip', 'netns', 'exec', name], address, outside, remove }
}

function run(...options: string[]): void {
  const { status, stderr } = spawnSync('ip', options, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${options.join(' ')} failed: ${stderr}`)
}
