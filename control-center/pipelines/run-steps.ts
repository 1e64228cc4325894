import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import type { BundleChecks } from '../packages/bundle-checks.ts'
import type { Packages } from '../packages/packages.ts'
import type { Registries, Registry, RegistryLogin } from '../registries/registries.ts'
import type { ArtifactOrigin, Artifacts } from './artifacts.ts'
import { contextFiles, packContext } from './build-context.ts'
import { runBuilder } from './builder.ts'
import type { BuilderFence } from './builder-fence.ts'
import { type BuilderHosts, registryOfImage } from './builder-hosts.ts'
import { type BuilderProxy, openBuilderProxy } from './builder-proxy.ts'
import { hasNoTls, imageOf } from './docker-information.ts'
import { RUN_IMAGES, tagOf } from './image-names.ts'
import type { Pipeline } from './pipelines.ts'
import { logInToRegistry } from './registry-login.ts'
import type { Run } from './run-rows.ts'
import type { RunStep } from './run-states.ts'
import type { UpstreamProxy } from './upstream-proxy.ts'

export type RunTask = {
  readonly pipeline: Pipeline
  readonly run: Run
  readonly signal: AbortSignal
  /** Writes a line to the current step's log. */
  readonly say: (text: string) => void
}

/** Creates the functions that perform one run's steps. */
export type StepWork = (task: RunTask) => {
  isSetUp(step: RunStep): boolean
  /** @throws PlatformError whose message says why the step failed */
  perform(step: RunStep): Promise<void>
  /** Deletes the run's files and its image in the builder's storage. Never rejects. */
  tidyUp(): Promise<void>
}

export type StepParts = {
  readonly packages: Pick<Packages, 'bundle' | 'stamp'>
  readonly checks: Pick<BundleChecks, 'check'>
  readonly artifacts: Pick<Artifacts, 'keepContext' | 'noteImage'>
  readonly registries: Pick<Registries, 'find' | 'secret'>
  /** `BUILDER_COMMAND`: the command and its own options; null if none is set. */
  readonly builder: readonly string[] | null
  readonly builderHosts: BuilderHosts
  /** The operator's upstream proxy; null if there is none. */
  readonly upstream: UpstreamProxy | null
  /** Null if builders run in the control center's network. */
  readonly fence: BuilderFence | null
  /** Parent folder of the runs' files; files of an earlier process have been deleted. */
  readonly folder: string
}

/** Timeouts in ms, per build and per pushed tag. */
const BUILD_TIME = 15 * 60_000
const PUSH_TIME = 15 * 60_000
/** Timeout of image clean-up and inspection, in ms. */
const REMOVE_TIME = 30_000

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

function stepsOf(
  { packages, checks, artifacts, registries, builder, builderHosts, upstream, fence }: StepParts,
  { pipeline, run, signal, say }: RunTask,
  folder: string,
): Record<RunStep | 'tidyUp', () => Promise<void>> {
  const { organisation, package: name } = pipeline
  const origin: ArtifactOrigin = {
    ...{ organisation, package: name, sha256: run.sha256, version: run.version },
    ...{ pipeline: pipeline.name, run: run.number },
  }
  /** A random name, so that no other run can build on this run's image. */
  const local = `${RUN_IMAGES}${randomUUID()}`
  /** Clean-up also runs after a cancel: a leftover image does no harm, but takes up space. */
  const quietly = { signal: new AbortController().signal, say: () => {} }
  let isBuilding = false
  /** The builder's proxy during a step that needs the network. */
  let proxy: BuilderProxy | null = null
  let bundle: Uint8Array = new Uint8Array()
  let title = name
  let files: ReadonlyMap<string, Buffer> = new Map()

  async function needBundle(): Promise<Uint8Array> {
    const found = await packages.bundle(organisation, name, run.sha256)
    if (found !== null) return found
    throw new PlatformError('ERR_VERSION_NOT_FOUND', `"${name}" no longer has a version ${run.sha256}.`)
  }

  async function needRegistry(): Promise<{ registry: Registry; login: RegistryLogin }> {
    const registry = await registries.find(organisation, pipeline.registry)
    const keys = registry && (await registries.secret(organisation, pipeline.registry))
    if (registry !== null && keys !== null) return { registry, login: await logInToRegistry(registry, keys) }
    throw new PlatformError('ERR_REGISTRY_LOGIN', 'The pipeline’s registry was deleted. Choose another one.')
  }

  /**
   * Runs `work` with the run's folder, the registry login in a file that only this account can read, and a proxy for
   * the builder.
   */
  async function withLogin<T>(
    work: (registry: Registry, options: string[], secrets: string[]) => Promise<T>,
  ): Promise<T> {
    const { registry, login } = await needRegistry()
    await builderHosts.needPublic(registry.host)
    const auth = Buffer.from(`${login.username}:${login.password}`).toString('base64')
    const file = join(folder, 'auth.json')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(file, JSON.stringify({ auths: { [registry.host]: { auth } } }), { mode: 0o600 })
    try {
      proxy = await openBuilderProxy({ hosts: builderHosts, say, upstream, fence })
      const options = ['--authfile', file, ...(hasNoTls(registry.host) ? ['--tls-verify=false'] : [])]
      return await work(registry, options, [login.password, auth, ...proxy.secrets])
    } finally {
      await proxy?.close()
      proxy = null
      await rm(file, { force: true })
    }
  }

  /**
   * Pulls the base image and returns its id. An image with ONBUILD instructions is refused: they would run here, on our
   * network, and anyone who may name an image could supply them.
   * @returns null for local images, which are the operator's own, and for `scratch`
   */
  async function pullBase(options: readonly string[], secrets: readonly string[]): Promise<string | null> {
    const { baseImage } = pipeline
    if (/^(?:localhost\/|scratch$)/.test(baseImage)) return null
    const from = registryOfImage(baseImage)
    if (from !== null) await builderHosts.needPublic(from)
    let id: string | undefined
    const hear = (line: string) => {
      if (/^[0-9a-f]{64}$/.test(line)) id = line
      else say(line)
    }
    // Always pull from the registry with the pipeline's own login, so that no run builds on an image that another run
    // left behind.
    await build(['pull', '--quiet', '--policy=always', ...options, baseImage], BUILD_TIME, secrets, { say: hear })
    if (id === undefined)
      throw new PlatformError('ERR_BUILDER_FAILED', 'The builder did not print the id of the image that it pulled.')
    // In the printed JSON, each key starts a line and no string value can.
    const found: string[] = []
    const look = (line: string) => {
      if (/^\s*"OnBuild":/.test(line)) found.push(line)
    }
    await build(['inspect', '--type=image', id], REMOVE_TIME, secrets, { say: look })
    if (found.length === 0) {
      const message = `The builder does not report whether "${baseImage}" has ONBUILD instructions. Use buildah.`
      throw new PlatformError('ERR_BUILDER_FAILED', message)
    }
    if (found.every((line) => /:\s*(?:null|\[\s*\])\s*,?\s*$/.test(line))) return id
    const why = 'has ONBUILD instructions, which are not supported. Use an image without them'
    throw new PlatformError('ERR_BUILDER_FAILED', `The image "${baseImage}" ${why}.`)
  }

  function build(words: readonly string[], time: number, secrets: readonly string[], more = {}): Promise<void> {
    return runBuilder({
      words: [...(builder ?? []), ...words],
      folder,
      wayOut: proxy,
      time,
      signal,
      say,
      secrets,
      ...more,
    })
  }

  return {
    async check() {
      bundle = await needBundle()
      const found = await checks.check(bundle)
      for (const { file, line, message } of [...found.faults, ...found.warnings].slice(0, 100)) {
        say(`${[file, line].filter((part) => part !== undefined).join(':')}: ${message}`)
      }
      if (found.bundle === null) throw new PlatformError('ERR_BUNDLE_REFUSED', 'The bundle has errors.')
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
        `The build context has ${files.size} files, ${packed.length} bytes as a zip: ${[...files.keys()].join(', ')}.`,
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

/** Creates an empty folder for the files of runs: an earlier process may have left some. */
export async function emptyRunFolder(home: string): Promise<string> {
  const folder = join(home, 'pipeline-runs')
  await rm(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
