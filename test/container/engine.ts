import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasCommand } from '../support/commands.ts'
import { makeBase } from './base-image.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The programs that the image tests need; `.ci/run` installs them in CI. */
const PROGRAMS = ['buildah', 'podman', 'runc', 'ip', 'openssl', 'apt-get', 'dpkg-deb']

/**
 * @returns the missing requirements: programs, and root privileges. Root is required because no container daemon runs
 * the commands for other users.
 */
export function missingForContainers(): string[] {
  const missing = PROGRAMS.filter((program) => !hasCommand(program))
  return process.getuid?.() === 0 ? missing : [...missing, 'the rights of root']
}

export const BASE = 'localhost/solhost-base:test'
export const IMAGE = 'localhost/solhost:test'

/** The timeout for one command, in ms. It is long because a build downloads packages. */
const TIME = 60_000
const BUILD_TIME = 240_000

export type Ran = { readonly code: number; readonly output: string }

/** Builds images and runs containers without a container engine, in a separate folder that contains no other images. */
export function createEngine() {
  // The path must be short, because podman rejects paths longer than 50 characters.
  const folder = mkdtempSync(join(tmpdir(), 'image-'))
  const store = [`--root=${join(folder, 'store')}`, `--runroot=${join(folder, 'run')}`]
  const storage = [...store, `--storage-driver=${driverFor(store)}`]
  // With these options podman needs neither systemd nor a newer kernel.
  const podmanOptions = [...storage, '--runtime=runc', '--cgroup-manager=cgroupfs']
  const containers = new Set<string>()

  const podman = (...args: string[]) => run('podman', [...podmanOptions, ...args])

  /** Runs a `podman` command that must succeed. @returns its output without the trailing newline */
  async function ask(...args: string[]): Promise<string> {
    const { code, output } = await podman(...args)
    if (code !== 0) throw new Error(`podman ${args.join(' ')}: ${output}`)
    return output.trim()
  }

  return {
    podman,
    ask,
    /** Creates the base image, then builds the image from it. */
    async build(): Promise<void> {
      const base = join(folder, 'base')
      makeBase(base)
      const archive = join(folder, 'base.tar')
      execFileSync('tar', ['-C', base, '-cf', archive, '.'], { timeout: TIME })
      rmSync(base, { recursive: true })
      await ask('import', archive, BASE)
      rmSync(archive)
      const options = ['--isolation=chroot', '--network=host', '--format=docker', `--build-arg=BASE_IMAGE=${BASE}`]
      const args = [...storage, 'bud', ...options, ...buildSecrets(folder), '--tag', IMAGE, ROOT]
      const built = await run('buildah', args, BUILD_TIME)
      if (built.code !== 0) throw new Error(`buildah bud: ${built.output.slice(-4000)}`)
    },
    /** Starts a container from the image, with the options from the guide and without unneeded privileges. */
    async start(name: string, options: readonly string[], ...args: string[]): Promise<void> {
      containers.add(name)
      await ask('run', '--detach', '--name', name, ...HARDENED, ...options, IMAGE, ...args)
    },
    /** Runs a container from the image until it exits. */
    run: (options: readonly string[], ...args: string[]) =>
      podman('run', '--rm', '--network=none', ...HARDENED, ...options, IMAGE, ...args),
    /** Stops and removes everything that was started and built. */
    async remove(): Promise<void> {
      for (const name of containers) await podman('rm', '--force', '--time=0', name)
      await podman('image', 'umount', '--all')
      // Unmounts the store, which is bind-mounted onto itself.
      spawnSync('umount', [join(folder, 'store', 'overlay')], { stdio: 'ignore' })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type Engine = ReturnType<typeof createEngine>

/**
 * The options that docs/satellite.md recommends. The container can't even write to /tmp. The resource limits must not
 * exceed those of the user who runs the test, because the user can't raise them. The health check is disabled, because
 * nothing would run it without a container daemon.
 */
const HARDENED = [
  ...['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--security-opt=no-new-privileges'],
  ...['--ulimit=nofile=20000:20000', '--ulimit=nproc=4000:4000', '--no-healthcheck'],
]

/** Falls back to vfs if overlays can't be nested, for example if the CI machine is itself a container. */
function driverFor(store: readonly string[]): 'overlay' | 'vfs' {
  const tried = spawnSync('podman', [...store, '--storage-driver=overlay', 'info'], { timeout: TIME, stdio: 'ignore' })
  if (tried.status === 0) return 'overlay'
  for (const option of store) rmSync(option.slice(option.indexOf('=') + 1), { recursive: true, force: true })
  return 'vfs'
}

/**
 * @returns the options that pass this machine's npm registry and certificate authorities to the build. They are not
 * stored in the image.
 */
function buildSecrets(folder: string): string[] {
  const secrets = join(folder, 'secrets')
  mkdirSync(secrets)
  const registry = npmConfig('registry')
  const authorities = [npmConfig('cafile'), process.env.NODE_EXTRA_CA_CERTS, '/etc/ssl/certs/ca-certificates.crt']
  const ca = authorities.find((file) => file !== undefined && file !== 'null' && existsSync(file))
  const npmrc = join(secrets, 'npmrc')
  writeFileSync(npmrc, `registry=${registry}\n${ca === undefined ? '' : 'cafile=/run/secrets/ca\n'}`)
  return [`--secret=id=npmrc,src=${npmrc}`, ...(ca === undefined ? [] : [`--secret=id=ca,src=${ca}`])]
}

function npmConfig(name: string): string {
  return execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', timeout: TIME, stdio: 'pipe' }).trim()
}

/** @returns the output (both streams combined) and the exit code, or -1 if the command was killed after `time` ms */
function run(program: string, args: readonly string[], time = TIME): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: time, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, output: stdout + stderr })
    })
  })
}
