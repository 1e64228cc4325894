import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeBase } from '../container/base-image.ts'
import { hasCommand } from '../support/commands.ts'

/**
 * The npm version that Node.js 20 includes. Newer versions, such as npm 11, run only install scripts that the user
 * allows.
 */
const NPM = 'npm@10.9.9'
/** Timeout for downloading npm, in ms. */
const TIME = 60_000
const USER = 1000
const HOME = '/home/anna'
/**
 * A shell command that mounts /proc and this machine's devices in the folder, then changes its root to that folder. The
 * mounts are visible only to this process and its children.
 */
const ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$@"'
const PROGRAMS = ['apt-get', 'dpkg-deb', 'unshare', 'mount', 'chroot']

/** Returns what is missing for a clean machine: programs, or root privileges. */
export function missingForCleanMachine(): string[] {
  const missing = PROGRAMS.filter((program) => !hasCommand(program))
  return process.getuid?.() === 0 ? missing : [...missing, 'the rights of root']
}

/**
 * Creates a root file system that contains only the C library, a shell, this machine's Node.js, and npm 10. It has no
 * compiler, Python or git. Commands in it run as an unprivileged user.
 */
export function createCleanMachine(folder: string, environment: Readonly<Record<string, string>>) {
  const root = join(folder, 'root')
  const downloaded = join(folder, 'npm')
  mkdirSync(root)
  mkdirSync(downloaded)
  execFileSync('npm', ['install', '--prefix', downloaded, NPM], { timeout: TIME, stdio: 'pipe' })
  const node = execFileSync('sh', ['-c', 'readlink -f "$(command -v node)"'], { encoding: 'utf8' }).trim()
  makeBase(root, { node, npm: join(downloaded, 'node_modules', 'npm') })
  mkdirSync(join(root, HOME), { recursive: true })
  chownSync(join(root, HOME), USER, USER)
  const env = { ...environment, PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin', HOME, LANG: 'C.UTF-8' }

  return {
    /** The path of the user's home folder, as seen from outside the clean machine. */
    home: join(root, HOME),
    /** Starts a command in its own process group. */
    start(words: readonly string[], more: Readonly<Record<string, string>> = {}, inFolder = '.'): ChildProcess {
      const command = ['sh', '-c', 'cd "$0" && exec "$@"', join(HOME, inFolder), ...words]
      const args = ['--mount', 'sh', '-c', ENTER, root, `--userspec=${USER}:${USER}`, root, ...command]
      return spawn('unshare', args, { env: { ...env, ...more }, detached: true })
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}
