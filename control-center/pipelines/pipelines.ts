import { randomUUID } from 'node:crypto'
import { insertOnce } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'

/** A pipeline, which turns a package into an image. Times are epoch ms. */
export type Pipeline = {
  readonly id: string
  readonly organisation: string
  readonly name: string
  readonly package: string
  /** The registry's id. The registry itself may have been deleted. */
  readonly registry: string
  /** The name of the image's repository: `<docker-repo-name>` in the deployment procedure. */
  readonly repository: string
  readonly baseImage: string
  readonly createdAt: number
}

export const PipelineName = z
  .string()
  .trim()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 lowercase letters, digits and hyphens')

/** The settings that can be changed later. */
export type PipelineSettings = Pick<Pipeline, 'registry' | 'repository' | 'baseImage'>
export type PipelineInput = PipelineSettings & Pick<Pipeline, 'name' | 'package'>

export interface Pipelines {
  /** @throws ERR_NAME_EXISTS; ERR_REQUEST_INVALID if the organisation has too many pipelines */
  create(organisation: string, wanted: PipelineInput): Promise<Pipeline>
  /** @returns the organisation's pipelines, sorted by package, then name */
  list(organisation: string): Promise<readonly Pipeline[]>
  /** @throws ERR_NOT_FOUND */
  need(organisation: string, name: string): Promise<Pipeline>
  /** @throws ERR_NOT_FOUND */
  change(organisation: string, name: string, settings: PipelineSettings): Promise<Pipeline>
  /**
   * Deletes the pipeline with its runs and their logs. Artifacts are not deleted.
   * @throws ERR_NOT_FOUND
   */
  remove(organisation: string, name: string): Promise<void>
}

/** Maximum pipelines per organisation. */
const MOST_PIPELINES = 200

/** @param now returns the current time in epoch milliseconds */
export function createPipelines(db: CenterDatabase, now: () => number = Date.now): Pipelines {
  const rows = (organisation: string) => db.selectFrom('pipelines').where('organisation', '=', organisation)

  async function need(organisation: string, name: string): Promise<Pipeline> {
    const row = await rows(organisation).selectAll().where('name', '=', name.slice(0, 100)).executeTakeFirst()
    if (row !== undefined) return pipelineOf(row)
    throw new PlatformError('ERR_NOT_FOUND', `There is no pipeline "${name.slice(0, 100)}". Check the name.`)
  }

  async function refuseTooMany(organisation: string): Promise<void> {
    const { count } = await rows(organisation)
      .select(({ fn }) => fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
    if (Number(count) < MOST_PIPELINES) return
    const message = `An organisation can have at most ${MOST_PIPELINES} pipelines. Delete one first.`
    throw new PlatformError('ERR_REQUEST_INVALID', message)
  }

  return {
    need,
    async create(organisation, wanted) {
      await refuseTooMany(organisation)
      const { baseImage, ...rest } = wanted
      const row = { id: randomUUID(), organisation, ...rest, base_image: baseImage, created_at: now() }
      if (await insertOnce(db, 'pipelines', row)) return pipelineOf(row)
      throw new PlatformError('ERR_NAME_EXISTS', `There is already a pipeline "${wanted.name}". Choose another name.`)
    },
    async list(organisation) {
      const found = await rows(organisation).selectAll().orderBy('package').orderBy('name').execute()
      return found.map(pipelineOf)
    },
    async change(organisation, name, { registry, repository, baseImage }) {
      const { id } = await need(organisation, name)
      const columns = { registry, repository, base_image: baseImage }
      await db.updateTable('pipelines').set(columns).where('id', '=', id).execute()
      return need(organisation, name)
    },
    async remove(organisation, name) {
      const { id } = await need(organisation, name)
      await db.deleteFrom('pipelines').where('id', '=', id).execute()
    },
  }
}

type Row = CenterTables['pipelines']

function pipelineOf({ base_image, created_at, ...row }: Row): Pipeline {
  return { ...row, baseImage: base_image, createdAt: created_at }
}
