import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Debian packages that Node.js and the Dockerfile's commands need. */
const PACKAGES = [
  ...['libc6', 'libgcc-s1', 'libstdc++6', 'libatomic1'],
  ...['dash', 'coreutils', 'findutils', 'libacl1', 'libattr1', 'libselinux1', 'libpcre2-8-0', 'libgmp10'],
]

/** The path of the Node.js binary, and npm's folder. */
type Programs = { readonly node: string; readonly npm: string }

/** The timeout for one download or for unpacking, in ms. */
const TIME = 60_000

/**
 * Creates a minimal root file system for a base image (such as `node:26-slim`). The tests can't use a real base image,
 * because no image registry is available where they run. This function unpacks Debian's packages without configuring
 * them. It takes 2 s; debootstrap would take 33 s.
 * @param programs the Node.js and npm to install; by default, the project's own Node.js and this machine's npm
 */
export function makeBase(folder: string, programs: Programs = ownPrograms()): void {
  for (const path of ['usr/bin', 'usr/sbin', 'usr/lib', 'usr/lib64', 'usr/local/bin', 'usr/local/lib/node_modules']) {
    mkdirSync(join(folder, path), { recursive: true })
  }
  for (const path of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${path}`, join(folder, path))
  for (const path of ['dev', 'etc', 'proc', 'root', 'sys']) mkdirSync(join(folder, path))
  mkdirSync(join(folder, 'tmp'))
  execFileSync('chmod', ['1777', join(folder, 'tmp')])
  unpackPackages(folder)
  // Remove files that no program needs.
  for (const path of ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/info']) {
    rmSync(join(folder, path), { recursive: true, force: true })
  }
  rmSync(join(folder, 'usr/bin/sh'), { force: true })
  symlinkSync('dash', join(folder, 'usr/bin/sh'))
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\n')
  addNode(folder, programs)
}

function unpackPackages(folder: string): void {
  const downloads = mkdtempSync(join(tmpdir(), 'solhost-packages-'))
  try {
    const download = ['-qq', '-o', 'APT::Sandbox::User=root', 'download', ...PACKAGES]
    try {
      execFileSync('apt-get', download, { cwd: downloads, timeout: TIME, stdio: 'pipe' })
    } catch {
      // The download failed, probably because the machine's package lists are out of date, so update them.
      execFileSync('apt-get', ['-qq', 'update'], { timeout: TIME, stdio: 'pipe' })
      execFileSync('apt-get', download, { cwd: downloads, timeout: TIME, stdio: 'pipe' })
    }
    for (const file of readdirSync(downloads)) {
      execFileSync('dpkg-deb', ['-x', join(downloads, file), folder], { timeout: TIME })
    }
  } finally {
    rmSync(downloads, { recursive: true })
  }
}

function ownPrograms(): Programs {
  const node = `../../node_modules/node-${process.platform}-${process.arch}/bin/node`
  const modules = execFileSync('npm', ['root', '--global'], { encoding: 'utf8', timeout: TIME, stdio: 'pipe' }).trim()
  return { node: fileURLToPath(new URL(node, import.meta.url)), npm: join(modules, 'npm') }
}

function addNode(folder: string, { node, npm }: Programs): void {
  cpSync(node, join(folder, 'usr/local/bin/node'))
  cpSync(npm, join(folder, 'usr/local/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(folder, 'usr/local/bin', name))
  }
}
