import type { Logger } from 'pino'
import type { CenterSettings } from '../config/settings.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { BundleChecks } from '../packages/bundle-checks.ts'
import type { Packages } from '../packages/packages.ts'
import type { Storage } from '../packages/storage.ts'
import type { Registries } from '../registries/registries.ts'
import { type Artifacts, createArtifacts } from './artifacts.ts'
import { createInformationFinder, type InformationFinder } from './information-finder.ts'
import { createPipelines, type Pipelines } from './pipelines.ts'
import { createStepWork, emptyRunFolder } from './run-steps.ts'
import { createRuns, type Runs } from './runs.ts'

export type PipelineParts = {
  readonly pipelines: Pipelines
  readonly runs: Runs
  readonly artifacts: Artifacts
  readonly dockerInformation: InformationFinder
}

export type PipelineNeeds = {
  readonly db: CenterDatabase
  readonly settings: Pick<CenterSettings, 'home' | 'builder' | 'allowedRegistries'>
  readonly log: Logger
  readonly packages: Packages
  readonly storage: Storage
  readonly bundleChecks: BundleChecks
  readonly registries: Registries
  /** What desired states are signed with. */
  readonly publicKey: string
}

/** Everything of pipelines. Versions that a run uses, or whose artifacts are kept, cannot be deleted from then on. */
export async function createPipelineParts(needs: PipelineNeeds): Promise<PipelineParts> {
  const { db, settings, log, packages, storage, bundleChecks, registries, publicKey } = needs
  const artifacts = createArtifacts(db, storage)
  const work = createStepWork({
    packages,
    checks: bundleChecks,
    artifacts,
    registries,
    builder: settings.builder,
    allowedRegistries: settings.allowedRegistries,
    folder: await emptyRunFolder(settings.home),
  })
  const runs = await createRuns({ db, work, log })
  packages.heldBy(async (organisation, name, sha256) => {
    if (runs.uses(organisation, name, sha256)) return 'a pipeline run of it goes on'
    const count = await artifacts.countOf(organisation, name, sha256)
    return count === 0 ? null : `pipelines made ${count} artifacts of it; delete those first`
  })
  return {
    pipelines: createPipelines(db),
    runs,
    artifacts,
    dockerInformation: createInformationFinder(registries, publicKey),
  }
}
