import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import type { BundleChecks } from '../packages/bundle-checks.ts'
import type { Packages } from '../packages/packages.ts'
import type { ArtifactOrigin, Artifacts } from './artifacts.ts'
import { contextFiles, packContext } from './build-context.ts'
import { imageOf } from './docker-information.ts'
import { RUN_IMAGES, tagOf } from './image-names.ts'
import { BUILD_TIME, type BuilderParts, createRunBuilder, REMOVE_TIME } from './run-builder.ts'
import type { RunStep } from './run-states.ts'
import type { RunTask } from './run-task.ts'

/** Creates the functions that perform one run's steps. */
export type StepWork = (task: RunTask) => {
  isSetUp(step: RunStep): boolean
  /** @throws PlatformError, whose message explains why the step failed */
  perform(step: RunStep): Promise<void>
  /** Deletes the run's files and its image in the builder's storage. Never rejects. */
  tidyUp(): Promise<void>
}

export type StepParts = BuilderParts & {
  readonly packages: Pick<Packages, 'bundle' | 'stamp'>
  readonly checks: Pick<BundleChecks, 'check'>
  readonly artifacts: Pick<Artifacts, 'keepContext' | 'noteImage'>
  /** The parent folder for the runs' files. An earlier process's files have already been deleted. */
  readonly folder: string
}

/** Timeout for pushing one tag, in ms. */
const PUSH_TIME = 15 * 60_000

export function createStepWork(parts: StepParts): StepWork {
  return (task) => {
    const steps = stepsOf(parts, task, join(parts.folder, task.run.id))
    return {
      isSetUp: (step) => parts.builder !== null || (step !== 'image' && step !== 'push'),
      perform: (step) => steps[step](),
      tidyUp: () => steps.tidyUp().catch(() => {}),
    }
  }
}

function stepsOf(parts: StepParts, task: RunTask, folder: string): Record<RunStep | 'tidyUp', () => Promise<void>> {
  const { packages, checks, artifacts } = parts
  const { pipeline, run, say } = task
  const { organisation, package: name } = pipeline
  const { withLogin, pullBase, build } = createRunBuilder(parts, task, folder)
  const origin: ArtifactOrigin = {
    ...{ organisation, package: name, sha256: run.sha256, version: run.version },
    ...{ pipeline: pipeline.name, run: run.number },
  }
  /** A random name, so that other runs can't build on this run's image. */
  const local = `${RUN_IMAGES}${randomUUID()}`
  /** Clean-up also runs after a cancel. If it fails, the leftover image only uses disk space. */
  const quietly = { signal: new AbortController().signal, say: () => {} }
  let isBuilding = false
  let bundle: Uint8Array = new Uint8Array()
  let title = name
  let files: ReadonlyMap<string, Buffer> = new Map()

  async function needBundle(): Promise<Uint8Array> {
    const found = await packages.bundle(organisation, name, run.sha256)
    if (found !== null) return found
    throw new PlatformError(
      'ERR_VERSION_NOT_FOUND',
      `Version ${run.sha256} of "${name}" no longer exists. Start a run for another version.`,
    )
  }

  return {
    async check() {
      bundle = await needBundle()
      const found = await checks.check(bundle)
      for (const { file, line, message } of [...found.faults, ...found.warnings].slice(0, 100)) {
        say(`${[file, line].filter((part) => part !== undefined).join(':')}: ${message}`)
      }
      if (found.bundle === null)
        throw new PlatformError('ERR_BUNDLE_REFUSED', 'The bundle has errors. Fix them and upload it again.')
      title = found.bundle.manifest.title
      say(`"${name}" ${run.version} is valid: ${bundle.length} bytes, sha256 ${run.sha256}.`)
    },
    async stamp() {
      await packages.stamp(organisation, name, run.sha256, run.stamp)
      for (const [key, value] of Object.entries(run.stamp)) say(`${key}: ${value}`)
    },
    async context() {
      const { baseImage } = pipeline
      const { version, sha256, stamp } = run
      files = contextFiles({ baseImage, solution: name, title, version, sha256, stamp, bundle })
      const packed = await packContext(files)
      await artifacts.keepContext(origin, `${name}-${tagOf(version)}-${run.number}-context.zip`, packed)
      say(
        `Created the build context, a zip of ${packed.length} bytes with these files: ${[...files.keys()].join(', ')}.`,
      )
    },
    async image() {
      const context = join(folder, 'context')
      await mkdir(context, { recursive: true, mode: 0o700 })
      for (const [file, content] of files) await writeFile(join(context, file), content, { mode: 0o644 })
      isBuilding = true
      await withLogin(async (_registry, options, secrets) => {
        const base = await pullBase(options, secrets)
        const words = [
          'build',
          '--format=docker',
          '--layers=false',
          '--pull=never',
          ...(base === null ? [] : [`--from=${base}`]),
          ...options,
          '--tag',
          local,
          context,
        ]
        await build(words, BUILD_TIME, secrets)
      })
      say(`Built the image from ${pipeline.baseImage}.`)
    },
    async push() {
      await withLogin(async (registry, options, secrets) => {
        for (const tag of new Set([tagOf(run.version), 'latest'])) {
          const reference = imageOf(registry, pipeline, tag)
          const digestFile = join(folder, 'digest')
          const words = ['push', ...options, '--digestfile', digestFile, local, `docker://${reference}`]
          await build(words, PUSH_TIME, secrets)
          const digest = (await readFile(digestFile, 'utf8')).trim()
          await artifacts.noteImage(origin, reference, /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : null)
          say(`Pushed ${reference}: ${digest}.`)
        }
      })
    },
    async tidyUp() {
      try {
        if (isBuilding) await build(['rmi', '--force', local], REMOVE_TIME, [], quietly)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

/** Creates an empty folder for the runs' files, and deletes any files from an earlier process. */
export async function emptyRunFolder(home: string): Promise<string> {
  const folder = join(home, 'pipeline-runs')
  await rm(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
