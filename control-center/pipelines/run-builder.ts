import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import type { Registries, Registry, RegistryLogin } from '../registries/registries.ts'
import { runBuilder } from './builder.ts'
import type { BuilderFence } from './builder-fence.ts'
import { type BuilderHosts, registryOfImage } from './builder-hosts.ts'
import { type BuilderProxy, openBuilderProxy } from './builder-proxy.ts'
import { hasNoTls } from './docker-information.ts'
import { logInToRegistry } from './registry-login.ts'
import type { RunTask } from './run-task.ts'
import type { UpstreamProxy } from './upstream-proxy.ts'

/** Runs the builder's commands for one run. */
export interface RunBuilder {
  /**
   * Calls `work` while the builder's proxy is running and the run's folder contains a file with the registry login.
   * Only the control center's account on the machine can read the file.
   */
  withLogin<T>(work: (registry: Registry, options: string[], secrets: string[]) => Promise<T>): Promise<T>
  /**
   * Pulls the base image and returns its id. Rejects an image with ONBUILD instructions, because they would run here,
   * in our network. They could be written by anyone who may choose the base image.
   * @returns null for `scratch` and for local images, which belong to the operator
   */
  pullBase(options: readonly string[], secrets: readonly string[]): Promise<string | null>
  /**
   * Runs the builder with these arguments.
   * @param time timeout in ms
   * @param secrets texts to redact in the log
   * @param more replaces the run's own signal or log, for clean-up and for reading the builder's output
   */
  build(
    words: readonly string[],
    time: number,
    secrets: readonly string[],
    more?: Partial<Pick<RunTask, 'signal' | 'say'>>,
  ): Promise<void>
}

export type BuilderParts = {
  readonly registries: Pick<Registries, 'find' | 'secret'>
  /** `BUILDER_COMMAND`: the command and its own options; null if not set. */
  readonly builder: readonly string[] | null
  readonly builderHosts: BuilderHosts
  /** The operator's upstream proxy; null if there is none. */
  readonly upstream: UpstreamProxy | null
  /** The isolated network for builders; null if they run in the control center's network. */
  readonly fence: BuilderFence | null
}

/** Timeout per build, in ms. */
export const BUILD_TIME = 15 * 60_000
/** Timeout for removing or inspecting an image, in ms. */
export const REMOVE_TIME = 30_000

/** @param folder the run's own folder, which may not exist yet */
export function createRunBuilder(
  { registries, builder, builderHosts, upstream, fence }: BuilderParts,
  { pipeline, signal, say }: RunTask,
  folder: string,
): RunBuilder {
  /** The builder's proxy during a step that needs the network; otherwise null. */
  let proxy: BuilderProxy | null = null

  async function needRegistry(): Promise<{ registry: Registry; login: RegistryLogin }> {
    const registry = await registries.find(pipeline.organisation, pipeline.registry)
    const keys = registry && (await registries.secret(pipeline.organisation, pipeline.registry))
    if (registry !== null && keys !== null) return { registry, login: await logInToRegistry(registry, keys) }
    throw new PlatformError('ERR_REGISTRY_LOGIN', 'The pipeline’s registry was deleted. Choose another one.')
  }

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
    // Always pull from the registry with the pipeline's own login, so that no run uses an image that another run left
    // behind.
    await build(['pull', '--quiet', '--policy=always', ...options, baseImage], BUILD_TIME, secrets, { say: hear })
    if (id === undefined)
      throw new PlatformError(
        'ERR_BUILDER_FAILED',
        'The builder did not print the ID of the pulled image. Set BUILDER_COMMAND to buildah or a compatible program.',
      )
    // The builder prints indented JSON, so each key starts a line. A string value never does.
    const found: string[] = []
    const look = (line: string) => {
      if (/^\s*"OnBuild":/.test(line)) found.push(line)
    }
    await build(['inspect', '--type=image', id], REMOVE_TIME, secrets, { say: look })
    if (found.length === 0) {
      const message = `The builder does not report whether "${baseImage}" has ONBUILD instructions. Set BUILDER_COMMAND to buildah or a compatible program.`
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

  return { withLogin, pullBase, build }
}
