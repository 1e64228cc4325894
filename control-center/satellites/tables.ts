import type { Steps } from '../../base/database/migrations.ts'

type SatelliteTables = {
  /**
   * The last report from each node in an environment: a `Report` as JSON. The fields that determine the environment's
   * health are also stored separately, with the findings as JSON. They are null in reports that earlier versions
   * stored.
   */
  satellite_reports: {
    environment: string
    node: string
    seen_at: number
    content: string
    health: string | null
    findings: string | null
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends SatelliteTables {}
}

export const SATELLITE_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('satellite_reports')
    .addColumn('environment', key, (column) => column.notNull())
    .addColumn('node', key, (column) => column.notNull())
    .addColumn('seen_at', 'bigint', (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('satellite_reports_key', ['environment', 'node'])
    .addForeignKeyConstraint('satellite_reports_of', ['environment'], 'environments', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema.createIndex('satellite_reports_time').on('satellite_reports').columns(['seen_at']),
]

export const REPORT_HEALTH_STEPS: Steps = (schema, { key, text }) => [
  schema.alterTable('satellite_reports').addColumn('health', key),
  schema.alterTable('satellite_reports').addColumn('findings', text),
]
