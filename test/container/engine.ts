import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasCommand } from '../support/commands.ts'
import { makeBase } from './base-image.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What the tests of the image need; in CI, `.ci/run` installs it. */
const PROGRAMS = ['buildah', 'podman', 'runc', 'ip', 'openssl', 'apt-get', 'dpkg-deb']

/** The programs that are missing here. They must run as root, too: there is no engine that would do it for others. */
export function missingForContainers(): string[] {
  const missing = PROGRAMS.filter((program) => !hasCommand(program))
  return process.getuid?.() === 0 ? missing : [...missing, 'the rights of root']
}

export const BASE = 'localhost/solhost-base:test'
export const IMAGE = 'localhost/solhost:test'

/** Of one command, in ms; a build downloads packages. */
const TIME = 60_000
const BUILD_TIME = 240_000

export type Ran = { readonly code: number; readonly output: string }

/** Builds images and runs containers without an engine, in a folder of its own that nobody else's images are in. */
export function createEngine() {
  // Short: podman refuses paths above 50 characters.
  const folder = mkdtempSync(join(tmpdir(), 'image-'))
  const store = [`--root=${join(folder, 'store')}`, `--runroot=${join(folder, 'run')}`]
  const storage = [...store, `--storage-driver=${driverFor(store)}`]
  // This machine needs neither systemd nor a newer kernel for them.
  const podmanOptions = [...storage, '--runtime=runc', '--cgroup-manager=cgroupfs']
  const containers = new Set<string>()

  const podman = (...args: string[]) => run('podman', [...podmanOptions, ...args])

  /** `podman` that must succeed; its output without the line's end. */
  async function ask(...args: string[]): Promise<string> {
    const { code, output } = await podman(...args)
    if (code !== 0) throw new Error(`podman ${args.join(' ')}: ${output}`)
    return output.trim()
  }

  return {
    podman,
    ask,
    /** Makes the base, then the image on it. */
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
    /** Starts a container of the image as the guide says it, all that it can do without taken away. */
    async start(name: string, options: readonly string[], ...args: string[]): Promise<void> {
      containers.add(name)
      await ask('run', '--detach', '--name', name, ...HARDENED, ...options, IMAGE, ...args)
    },
    /** Runs a container of the image to its end. */
    run: (options: readonly string[], ...args: string[]) =>
      podman('run', '--rm', '--network=none', ...HARDENED, ...options, IMAGE, ...args),
    /** Ends and removes everything that was started and built. */
    async remove(): Promise<void> {
      for (const name of containers) await podman('rm', '--force', '--time=0', name)
      await podman('image', 'umount', '--all')
      // The store is mounted onto itself.
      spawnSync('umount', [join(folder, 'store', 'overlay')], { stdio: 'ignore' })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type Engine = ReturnType<typeof createEngine>

/**
 * The options that docs/satellite.md recommends; not even /tmp can be written to. The bounds are no higher than those of
 * whoever starts it, which may not raise them, and the engine itself has nobody who asks for the health.
 */
const HARDENED = [
  ...['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--security-opt=no-new-privileges'],
  ...['--ulimit=nofile=20000:20000', '--ulimit=nproc=4000:4000', '--no-healthcheck'],
]

/** Where folders are overlays already (a container as the CI's machine) they cannot be laid over one another again. */
function driverFor(store: readonly string[]): 'overlay' | 'vfs' {
  const tried = spawnSync('podman', [...store, '--storage-driver=overlay', 'info'], { timeout: TIME, stdio: 'ignore' })
  if (tried.status === 0) return 'overlay'
  for (const option of store) rmSync(option.slice(option.indexOf('=') + 1), { recursive: true, force: true })
  return 'vfs'
}

/** Where this machine's npm gets packages, and by which certificates it knows that place. Nothing of it gets into the image. */
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

/** @returns what it printed, both streams in one, and how it ended; -1: it was ended after `time` ms */
function run(program: string, args: readonly string[], time = TIME): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: time, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, output: stdout + stderr })
    })
  })
}
