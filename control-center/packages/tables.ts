import type { Steps } from '../../base/database/migrations.ts'

type PackageTables = {
  /** The bundles of a solution. `name` is the solution's name, unique within the organisation. */
  packages: { organisation: string; name: string; created_at: number }
  /**
   * `stamp` is the build information from the version's last pipeline run, as JSON, or null. `uploaded_by` is an
   * actor's name as in the audit log.
   */
  package_versions: {
    organisation: string
    package: string
    sha256: string
    version: string
    title: string
    authenticator: string
    bundle: Uint8Array
    bytes: number
    stamp: string | null
    uploaded_at: number
    uploaded_by: string
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends PackageTables {}
}

export const PACKAGE_STEPS: Steps = (schema, { key, text, bytes }) => [
  schema
    .createTable('packages')
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('name', key, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('packages_key', ['organisation', 'name'])
    .addForeignKeyConstraint('packages_organisation', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('package_versions')
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('package', key, (column) => column.notNull())
    .addColumn('sha256', key, (column) => column.notNull())
    .addColumn('version', text, (column) => column.notNull())
    .addColumn('title', text, (column) => column.notNull())
    .addColumn('authenticator', text, (column) => column.notNull())
    .addColumn('bundle', bytes, (column) => column.notNull())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .addColumn('stamp', text)
    .addColumn('uploaded_at', 'bigint', (column) => column.notNull())
    .addColumn('uploaded_by', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('package_versions_key', ['organisation', 'package', 'sha256'])
    .addForeignKeyConstraint(
      'package_versions_of',
      ['organisation', 'package'],
      'packages',
      ['organisation', 'name'],
      (constraint) => constraint.onDelete('cascade'),
    ),
]
