import type { Steps } from '../../base/database/migrations.ts'

type PipelineTables = {
  /**
   * `name` is unique in its organisation. `registry` is an id in the table `registries`; that row may have been
   * deleted.
   */
  pipelines: {
    id: string
    organisation: string
    name: string
    package: string
    registry: string
    repository: string
    base_image: string
    created_at: number
  }
  /** `number` is the run's number in its pipeline. `state` is one of `RUN_STATES`; `steps` and `stamp` are JSON. */
  pipeline_runs: {
    id: string
    pipeline: string
    number: number
    sha256: string
    version: string
    state: string
    steps: string
    stamp: string
    started_at: number
    ended_at: number | null
    started_by: string
  }
  /**
   * Runs in progress. `node` is the process that performs the run; its lease is valid until `until`. `cancelled` is 1
   * after a cancel request.
   */
  run_leases: { run: string; node: string; until: number; cancelled: number }
  /**
   * One row per slot. Slots limit the number of concurrent runs over all control centers. A slot belongs to the run
   * `run` until `until`.
   */
  run_places: { place: number; run: string | null; until: number }
  /** `number` is the line's position in the run's log; `step` is the step's name. */
  pipeline_log: { run: string; number: number; time: number; step: string; text: string }
  /**
   * Results of runs. They remain when their pipeline or run is deleted. `content` and `content_sha256` are set for a
   * context, `reference` and `digest` for an image.
   */
  artifacts: {
    id: string
    organisation: string
    package: string
    sha256: string
    version: string
    pipeline: string
    run: number
    kind: string
    name: string
    bytes: number
    content: Uint8Array | null
    content_sha256: string | null
    reference: string | null
    digest: string | null
    created_at: number
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends PipelineTables {}
}

export const PIPELINE_STEPS: Steps = (schema, { key, text, bytes }) => [
  schema
    .createTable('pipelines')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('name', key, (column) => column.notNull())
    .addColumn('package', key, (column) => column.notNull())
    .addColumn('registry', key, (column) => column.notNull())
    .addColumn('repository', text, (column) => column.notNull())
    .addColumn('base_image', text, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('pipelines_name', ['organisation', 'name'])
    .addForeignKeyConstraint('pipelines_organisation', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('pipeline_runs')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('pipeline', key, (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('sha256', key, (column) => column.notNull())
    .addColumn('version', text, (column) => column.notNull())
    .addColumn('state', key, (column) => column.notNull())
    .addColumn('steps', text, (column) => column.notNull())
    .addColumn('stamp', text, (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('started_by', text, (column) => column.notNull())
    .addUniqueConstraint('pipeline_runs_number', ['pipeline', 'number'])
    .addForeignKeyConstraint('pipeline_runs_of', ['pipeline'], 'pipelines', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema.createIndex('pipeline_runs_state').on('pipeline_runs').columns(['state']),
  schema
    .createTable('pipeline_log')
    .addColumn('run', key, (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('time', 'bigint', (column) => column.notNull())
    .addColumn('step', key, (column) => column.notNull())
    .addColumn('text', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('pipeline_log_key', ['run', 'number'])
    .addForeignKeyConstraint('pipeline_log_of', ['run'], 'pipeline_runs', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('artifacts')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('package', key, (column) => column.notNull())
    .addColumn('sha256', key, (column) => column.notNull())
    .addColumn('version', text, (column) => column.notNull())
    .addColumn('pipeline', key, (column) => column.notNull())
    .addColumn('run', 'integer', (column) => column.notNull())
    .addColumn('kind', key, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .addColumn('content', bytes)
    .addColumn('content_sha256', key)
    .addColumn('reference', text)
    .addColumn('digest', text)
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addForeignKeyConstraint('artifacts_organisation', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema.createIndex('artifacts_of').on('artifacts').columns(['organisation', 'package', 'created_at']),
]

export const RUN_LEASE_STEPS: Steps = (schema, { key }) => [
  schema
    .createTable('run_leases')
    .addColumn('run', key, (column) => column.primaryKey())
    .addColumn('node', key, (column) => column.notNull())
    .addColumn('until', 'bigint', (column) => column.notNull())
    .addColumn('cancelled', 'integer', (column) => column.notNull())
    .addForeignKeyConstraint('run_leases_of', ['run'], 'pipeline_runs', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('run_places')
    .addColumn('place', 'integer', (column) => column.primaryKey())
    .addColumn('run', key)
    .addColumn('until', 'bigint', (column) => column.notNull()),
]
