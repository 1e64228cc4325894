import type { Logger } from 'pino'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { BundleChecks } from '../packages/bundle-checks.ts'
import type { Packages } from '../packages/packages.ts'
import type { Storage } from '../packages/storage.ts'
import type { Registries } from '../registries/registries.ts'
import { type Artifacts, createArtifacts } from './artifacts.ts'
import { findBuilderFence } from './builder-fence.ts'
import { createBuilderHosts } from './builder-hosts.ts'
import type { BuilderSettings } from './builder-settings.ts'
import { createInformationFinder, type InformationFinder } from './information-finder.ts'
import { createPipelines, type Pipelines } from './pipelines.ts'
import { createStepWork, emptyRunFolder } from './run-steps.ts'
import { createRuns, type Runs } from './runs.ts'
import { readUpstreamProxy } from './upstream-proxy.ts'

export type PipelineParts = {
  readonly pipelines: Pipelines
  readonly runs: Runs
  readonly artifacts: Artifacts
  readonly dockerInformation: InformationFinder
}

export type PipelineNeeds = {
  readonly db: CenterDatabase
  readonly settings: Pick<ServiceSettings, 'home' | 'database' | 'publicUrl'> & BuilderSettings
  readonly log: Logger
  readonly packages: Packages
  readonly storage: Storage
  readonly bundleChecks: BundleChecks
  readonly registries: Registries
  /** The public key for verifying the signatures of desired states. */
  readonly publicKey: string
}

/** Creates the parts of pipelines. Also prevents the deletion of versions that a run uses or that have artifacts. */
export async function createPipelineParts(needs: PipelineNeeds): Promise<PipelineParts> {
  const { db, settings, log, packages, storage, bundleChecks, registries, publicKey } = needs
  const artifacts = createArtifacts(db, storage)
  const fence = settings.builder === null ? null : await findBuilderFence(settings.builder)
  if (settings.builder !== null && fence === null) {
    log.warn(
      'the builder cannot run in a separate network, so a registry could redirect it to loopback addresses. To prevent this, install unshare and ip, and allow the control center to create network namespaces',
    )
  }
  const work = createStepWork({
    packages,
    checks: bundleChecks,
    artifacts,
    registries,
    builder: settings.builder,
    builderHosts: createBuilderHosts(settings.allowedRegistries),
    upstream: readUpstreamProxy(process.env),
    fence,
    folder: await emptyRunFolder(settings.home),
  })
  const runs = await createRuns({ db, work, log, isShared: settings.database.kind !== 'embedded' })
  packages.heldBy(async (from, organisation, name, sha256) => {
    if (await runs.uses(from, organisation, name, sha256))
      return 'a pipeline run is using this version; cancel the run or wait until it has finished'
    const count = await artifacts.countOf(from, organisation, name, sha256)
    const what = count === 1 ? 'an artifact' : `${count} artifacts`
    return count === 0 ? null : `pipelines created ${what} from this version; delete the artifacts first`
  })
  return {
    pipelines: createPipelines(db),
    runs,
    artifacts,
    dockerInformation: createInformationFinder(registries, settings, publicKey),
  }
}
