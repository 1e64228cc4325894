// Creates all parts of a release in build/release/: npm package, container images, SBOM, release notes and checksums.
// Options after `--` are passed to `buildah build`, such as --build-arg=BASE_IMAGE=….
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { version } from '../base/program/version.ts'
import { checksums, IMAGE_ARCHITECTURES, notesOf, whyNoImage } from './release-parts.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUT = join(ROOT, 'build', 'release')
const WITHOUT_IMAGES = '--without-images'

const given = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)

rmSync(OUT, { recursive: true, force: true })
mkdirSync(OUT, { recursive: true })
const notes = notesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version)
writeFileSync(join(OUT, 'release-notes.md'), notes)
run('npm', ['run', 'package'])
copyFileSync(join(ROOT, 'build', `solhost-${version}.tgz`), join(OUT, `solhost-${version}.tgz`))
// The SBOM for the package's dependencies. Each image contains an SBOM for its own files.
const sbom = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev', '--package-lock-only']
writeFileSync(join(OUT, `solhost-${version}.sbom.cdx.json`), execFileSync('npm', sbom, { cwd: ROOT, stdio: 'pipe' }))
const missing = given.includes(WITHOUT_IMAGES)
  ? [`Skipped the container images because of the option ${WITHOUT_IMAGES}.`]
  : buildImages()
const files = readdirSync(OUT).sort()
writeFileSync(join(OUT, 'SHA256SUMS'), checksums(files.map((name) => [name, sha256(join(OUT, name))])))
say(`Created Solhost ${version} (commit ${revision()}) in ${OUT}:`)
for (const name of [...files, 'SHA256SUMS']) say(`  ${name}`)
for (const line of missing) say(line)

/** @returns which images are missing, and why */
function buildImages(): readonly string[] {
  const builder = { hasBuildah: isProgram('buildah'), own: process.arch, canRun }
  return IMAGE_ARCHITECTURES.flatMap(({ name, node }) => {
    const why = whyNoImage(node, builder)
    if (why !== null) return [`Skipped the image for ${name}: ${why}`]
    const tag = `localhost/solhost:${version}-${name}`
    const labels = [`--build-arg=VERSION=${version}`, `--build-arg=REVISION=${revision()}`]
    run('buildah', ['build', `--platform=linux/${name}`, '--format=docker', ...labels, ...given, '--tag', tag, ROOT])
    run('buildah', ['push', tag, `docker-archive:${join(OUT, `solhost-${version}-image-${name}.tar`)}:${tag}`])
    return []
  })
}

/** Whether the kernel runs another architecture's programs with this emulator. @see binfmt_misc in the kernel's docs */
function canRun(emulator: string): boolean {
  return existsSync(`/proc/sys/fs/binfmt_misc/${emulator}`)
}

function isProgram(name: string): boolean {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0
}

function revision(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain') === '' ? '' : '-changed'
  return `${git('rev-parse', 'HEAD')}${changed}`
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
}
