import type { Steps } from '../../base/database/migrations.ts'

type RolloutTables = {
  /**
   * A deployment of a package version to several environments. `state` is one of `ROLLOUT_STATES`, and `patience` is in
   * ms.
   */
  rollouts: {
    id: string
    organisation: string
    package: string
    sha256: string
    version: string
    state: string
    /** `one-by-one` or `all`. */
    pace: string
    patience: number
    created_at: number
    created_by: string
  }
  /** One environment of a rollout, ordered by `position`. `state` is one of `STEP_STATES`. */
  rollout_steps: {
    rollout: string
    position: number
    environment: string
    state: string
    /**
     * Sequence number of the desired state that the Satellite must report on; null if the desired state was not
     * changed.
     */
    number: number | null
    started_at: number | null
    ended_at: number | null
    /** The previous version, as JSON; null if the environment was not changed. */
    before: string | null
    /** Why the step failed: a `StepFailure` as JSON. */
    failure: string | null
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends RolloutTables {}
}

export const ROLLOUT_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('rollouts')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('package', key, (column) => column.notNull())
    .addColumn('sha256', key, (column) => column.notNull())
    .addColumn('version', text, (column) => column.notNull())
    .addColumn('state', key, (column) => column.notNull())
    .addColumn('pace', key, (column) => column.notNull())
    .addColumn('patience', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('created_by', key, (column) => column.notNull())
    .addForeignKeyConstraint('rollouts_organisation', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema.createIndex('rollouts_order').on('rollouts').columns(['organisation', 'created_at']),
  schema.createIndex('rollouts_state').on('rollouts').columns(['state']),
  schema
    .createTable('rollout_steps')
    .addColumn('rollout', key, (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('environment', key, (column) => column.notNull())
    .addColumn('state', key, (column) => column.notNull())
    .addColumn('number', 'bigint')
    .addColumn('started_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addColumn('before', text)
    .addColumn('failure', text)
    .addPrimaryKeyConstraint('rollout_steps_key', ['rollout', 'position'])
    .addForeignKeyConstraint('rollout_steps_of', ['rollout'], 'rollouts', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    )
    .addForeignKeyConstraint('rollout_steps_environment', ['environment'], 'environments', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
]
