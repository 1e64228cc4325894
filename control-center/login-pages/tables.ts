import type { Steps } from '../../base/database/migrations.ts'

type LoginPageTables = {
  /** Published designs, the last ten per solution. `number` increases; `design` is JSON. */
  login_pages: {
    organisation: string
    solution: string
    number: number
    design: string
    published_at: number
    published_by: string
  }
  /** Each person's last draft for each solution, used by the preview. */
  login_page_drafts: {
    organisation: string
    solution: string
    person: string
    design: string
    changed_at: number
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends LoginPageTables {}
}

export const LOGIN_PAGE_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('login_pages')
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('solution', key, (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('design', text, (column) => column.notNull())
    .addColumn('published_at', 'bigint', (column) => column.notNull())
    .addColumn('published_by', key, (column) => column.notNull())
    .addPrimaryKeyConstraint('login_pages_key', ['organisation', 'solution', 'number'])
    .addForeignKeyConstraint('login_pages_of', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
  schema
    .createTable('login_page_drafts')
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('solution', key, (column) => column.notNull())
    .addColumn('person', key, (column) => column.notNull())
    .addColumn('design', text, (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('login_page_drafts_key', ['organisation', 'solution', 'person'])
    .addForeignKeyConstraint('login_page_drafts_of', ['organisation'], 'organisations', ['id'], (constraint) =>
      constraint.onDelete('cascade'),
    ),
]
