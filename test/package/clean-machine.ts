import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeBase } from '../container/base-image.ts'
import { hasCommand } from '../support/commands.ts'

/** The npm version that Node.js 20 includes. npm 11 only runs install scripts that are allowed explicitly. */
const NPM = 'npm@10.9.9'
/** Timeout for downloading npm, in ms. */
const TIME = 60_000
const USER = 1000
const HOME = '/home/anna'
/** Mounts /proc and this machine's devices in the folder, visible only to this process and its children. */
const ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$@"'
const PROGRAMS = ['apt-get', 'dpkg-deb', 'unshare', 'mount', 'chroot']

/** The missing requirements: programs, and root privileges. */
export function missingForCleanMachine(): string[] {
  const missing = PROGRAMS.filter((program) => !hasCommand(program))
  return process.getuid?.() === 0 ? missing : [...missing, 'the rights of root']
}

/**
 * A root file system that contains the C library, a shell, this machine's Node.js and npm 10, and nothing else: no
 * compiler, Python or git. Commands run as an ordinary user.
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
    /** The path of the user's home folder on this machine. */
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
