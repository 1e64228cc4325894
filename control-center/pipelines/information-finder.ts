import type { Context } from 'koa'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { publicOriginOf } from '../access/page-sessions.ts'
import type { Registries } from '../registries/registries.ts'
import { type DockerInformation, dockerInformation } from './docker-information.ts'
import type { Pipeline } from './pipelines.ts'

/** Returns the data for a pipeline's Docker Information dialog; null if the pipeline's registry was deleted. */
export type InformationFinder = (ctx: Context, pipeline: Pipeline) => Promise<DockerInformation | null>

/** @param publicKey the public key of desired state signatures */
export function createInformationFinder(
  registries: Pick<Registries, 'find'>,
  settings: Pick<ServiceSettings, 'publicUrl'>,
  publicKey: string,
): InformationFinder {
  return async (ctx, pipeline) => {
    const registry = await registries.find(pipeline.organisation, pipeline.registry)
    if (registry === null) return null
    return dockerInformation({ registry, pipeline, cloudUrl: publicOriginOf(ctx, settings), cloudPublicKey: publicKey })
  }
}
