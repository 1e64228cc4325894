/**
 * The architectures of a release's images. `name` is the name that container images use, `node` is Node.js's name, and
 * `emulator` is the kernel's entry for QEMU (binfmt_misc).
 */
export const IMAGE_ARCHITECTURES = [
  { name: 'amd64', node: 'x64', emulator: 'qemu-x86_64' },
  { name: 'arm64', node: 'arm64', emulator: 'qemu-aarch64' },
] as const

type Builder = {
  readonly hasBuildah: boolean
  /** Node.js's name for this machine's architecture. */
  readonly own: string
  /** Whether this machine can run programs for another architecture with this emulator. */
  readonly canRun: (emulator: string) => boolean
}

/** @returns why an image cannot be built here, and what to do; null if it can */
export function whyNoImage(node: 'x64' | 'arm64', { hasBuildah, own, canRun }: Builder): string | null {
  if (!hasBuildah) return 'buildah is not installed. Install it, or build the image with docker (docs/satellite.md).'
  const emulator = IMAGE_ARCHITECTURES.find((one) => one.node === node)?.emulator ?? ''
  if (node === own || canRun(emulator)) return null
  return `this machine is ${own}, and the emulator ${emulator} is not installed. Install it, or run the release on ${node}.`
}

/** Returns the release notes: a version's section in the changelog. @throws Error if the section is missing */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1)
  const own = sections.find((section) => /^\S+/.exec(section)?.[0] === version)
  if (own === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}". Add one.`)
  const [, ...lines] = own.split('\n')
  return `# Solhost ${version}\n\n${lines.join('\n').trim()}\n`
}

/** Returns one line per file, in the format that `sha256sum --check` reads. */
export function checksums(files: readonly (readonly [name: string, hash: string])[]): string {
  return files.map(([name, hash]) => `${hash}  ${name}\n`).join('')
}
